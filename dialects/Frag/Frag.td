include "FragSmemOps.td"
