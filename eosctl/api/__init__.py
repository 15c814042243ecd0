"""What `import eosctl` gives: the operations for a program, typed and without a terminal."""
