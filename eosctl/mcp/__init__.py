"""A server of the Model Context Protocol: assistants ask about one cluster; only a person applies what they plan."""
