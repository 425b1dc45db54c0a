include "FragAsyncOps.td"
