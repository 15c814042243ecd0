"""The names of `import eosctl`: the operations for a program, typed and without a terminal."""
