"""The multibody model: modules written in symbols, joined by contacts, compiled."""
