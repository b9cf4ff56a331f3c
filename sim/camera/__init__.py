"""The rendered camera: frames of the plant's bodies with optics, blur and noise, tracked as real ones are."""
