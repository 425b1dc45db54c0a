// Holds the precompiled header; has no code.
