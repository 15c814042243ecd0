"""Planning the ACLs of a Connect cluster."""
