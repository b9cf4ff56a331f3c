"""The public name of `System`: modules joined by contacts."""

from granite.mrds.contacts.system import System as System
