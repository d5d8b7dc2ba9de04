"""llama.cpp's server, by the package xllamacpp: ``GGUF PORT``."""

from __future__ import annotations

import signal
import sys

import xllamacpp

parameters = xllamacpp.CommonParams()
parameters.model.path = sys.argv[1]
parameters.n_ctx, parameters.n_parallel = 8192, 4
parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = 1
parameters.hostnames, parameters.port = ["127.0.0.1"], int(sys.argv[2])
server = xllamacpp.Server(parameters)
signal.pause()
