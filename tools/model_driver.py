#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs SavedModels through the C API (TF_LoadSessionFromSavedModel, TF_SessionRun) of Ferry or of TensorFlow.

Used by tools/try_models.py. `model_driver.py ferry|tensorflow` is a child process: it reads one pickled job from
stdin and answers on stdout. A job is {path, tags, runs}; a run is {feeds: {tensor name: tensor}, fetches: [name],
targets: [name]}, a tensor as in tools/fuzz_driver.py. All runs share one session, so state shows. The answer is a list
that holds ("ok", [tensor]) or ("error", code, text) for the load and for every run.
"""
import ctypes as C
import os
import pickle
import sys

from fuzz_driver import Api, Failed


class Output(C.Structure):
    _fields_ = [("oper", C.c_void_p), ("index", C.c_int)]


class Models(Api):
    def __init__(self, which):
        Api.__init__(self, which)
        for name in ("TF_NewSessionOptions", "TF_LoadSessionFromSavedModel", "TF_GraphOperationByName"):
            getattr(self.lib, name).restype = C.c_void_p

    def load(self, path, tags):
        lib = self.lib
        options, graph = C.c_void_p(lib.TF_NewSessionOptions()), C.c_void_p(lib.TF_NewGraph())
        array = (C.c_char_p * max(1, len(tags)))(*[t.encode() for t in tags])
        s = lib.TF_LoadSessionFromSavedModel(options, None, path.encode(), array, len(tags), graph, None, self.status)
        lib.TF_DeleteSessionOptions(options)
        self.check()
        return C.c_void_p(s), graph

    def end(self, graph, name):
        node, _, index = name.partition(":")
        op = self.lib.TF_GraphOperationByName(graph, node.encode())
        if not op:
            raise Failed(5, "driver: no operation " + node)
        return Output(op, int(index or 0))

    def run(self, session, graph, run):
        lib = self.lib
        feeds = [self.end(graph, k) for k in run["feeds"]]
        fetches = [self.end(graph, k) for k in run["fetches"]]
        targets = [self.end(graph, k).oper for k in run.get("targets", ())]
        values = [self.tensor(t) for t in run["feeds"].values()]
        results = (C.c_void_p * max(1, len(fetches)))()
        lib.TF_SessionRun(session, None, (Output * max(1, len(feeds)))(*feeds),
                          (C.c_void_p * max(1, len(feeds)))(*[v.value for v in values]), len(feeds),
                          (Output * max(1, len(fetches)))(*fetches), results, len(fetches),
                          (C.c_void_p * max(1, len(targets)))(*targets), len(targets), None, self.status)
        for v in values:
            lib.TF_DeleteTensor(v)
        self.check()
        out = [self.read(C.c_void_p(r)) for r in results[:len(fetches)]]
        for r in results[:len(fetches)]:
            lib.TF_DeleteTensor(C.c_void_p(r))
        return out

    def job(self, job):
        try:
            session, graph = self.load(job["path"], job["tags"])
        except Failed as e:
            return [("error", e.code, e.text)]
        answers = [("ok", [])]
        for run in job["runs"]:
            try:
                answers.append(("ok", self.run(session, graph, run)))
            except Failed as e:
                answers.append(("error", e.code, e.text))
        self.lib.TF_CloseSession(session, self.status)
        self.lib.TF_DeleteSession(session, self.status)
        self.lib.TF_DeleteGraph(graph)
        return answers


def main():
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a model prints is none of the answer
    job = pickle.load(sys.stdin.buffer)
    pickle.dump(Models(sys.argv[1]).job(job), out)
    out.flush()


if __name__ == "__main__":
    main()
