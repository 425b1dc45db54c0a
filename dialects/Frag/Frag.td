include "FragGroupOps.td"
