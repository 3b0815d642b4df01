# SPDX-License-Identifier: Apache-2.0
"""Client of tenond, the LLM inference daemon, over its Unix socket."""
