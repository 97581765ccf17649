"""The MCP tools, one thin module each: check the arguments, call the domain, return an `Answer`."""
