include "PipeOps.td"
