#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The child process of tools/replay_calls.py: `replay_driver.py ferry|tensorflow` answers recorded cases through the C API.

Eager calls and steps are those of tools/fuzz_driver.py. A case of mode "runs" is a graph (the bytes of a GraphDef) and runs of one
session, each as in tools/model_driver.py; the answer is ("runs", [answer of the import, answer of each run]).
"""
import ctypes as C
import sys

from fuzz_driver import Api, Failed, serve
from model_driver import Models


class Calls(Models):
    def open(self, data):
        lib = self.lib
        for name in ("TF_NewBufferFromString", "TF_NewImportGraphDefOptions", "TF_NewSession"):
            getattr(lib, name).restype = C.c_void_p
        graph, options = C.c_void_p(lib.TF_NewGraph()), C.c_void_p(lib.TF_NewImportGraphDefOptions())
        buffer = C.c_void_p(lib.TF_NewBufferFromString(data, C.c_size_t(len(data))))
        lib.TF_GraphImportGraphDef(graph, buffer, options, self.status)
        lib.TF_DeleteBuffer(buffer)
        lib.TF_DeleteImportGraphDefOptions(options)
        self.check()
        options = C.c_void_p(lib.TF_NewSessionOptions())
        session = C.c_void_p(lib.TF_NewSession(graph, options, self.status))
        lib.TF_DeleteSessionOptions(options)
        self.check()
        return session, graph

    def runs(self, case):
        try:
            session, graph = self.open(case["graph"])
        except Failed as e:
            return ("runs", [("error", e.code, e.text)])
        answers = [("ok", [], [])]
        for run in case["runs"]:
            try:
                answers.append(("ok", Models.run(self, session, graph, run), []))
            except Failed as e:
                answers.append(("error", e.code, e.text))
        self.lib.TF_CloseSession(session, self.status)
        self.lib.TF_DeleteSession(session, self.status)
        self.lib.TF_DeleteGraph(graph)
        return ("runs", answers)

    def run(self, case):
        return self.runs(case) if case.get("mode") == "runs" else Api.run(self, case)


if __name__ == "__main__":
    serve(Calls, sys.argv[1])
