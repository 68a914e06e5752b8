#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The examples of TensorFlow's own documentation, as a program to record:

  /opt/tfvenv/bin/python tools/record_calls.py --out FILE tools/calls/docstrings.py [REGEX]

Runs every ">>>" of the docstrings of the public API (of the modules whose names match). What an example prints is not looked at.
"""
import doctest
import io
import re
import signal
import sys

import numpy as np
import tensorflow as tf

WANTED = re.compile(sys.argv[1] if len(sys.argv) > 1 else "")
SECONDS = 20  # for the examples of one docstring


class TooLong(Exception):
    pass


def stop(*_):
    raise TooLong


def docstrings():
    """(name, text) of everything public."""
    for name, module in sorted(sys.modules.items()):
        if not name.startswith(("tensorflow.python.", "keras.src.")) or not WANTED.search(name):
            continue
        for key, thing in sorted(vars(module).items()):
            if getattr(thing, "__module__", None) != name or not callable(thing):
                continue
            yield f"{name}.{key}", getattr(thing, "__doc__", None)
            if isinstance(thing, type):
                for sub, member in sorted(vars(thing).items()):
                    yield f"{name}.{key}.{sub}", getattr(member, "__doc__", None)
        yield name, module.__doc__


def main():
    parser = doctest.DocTestParser()
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS, verbose=False)
    signal.signal(signal.SIGALRM, stop)
    seen = set()
    for name, text in docstrings():
        if not isinstance(text, str) or ">>>" not in text or text in seen:
            continue
        seen.add(text)
        try:
            test = parser.get_doctest(text, {"tf": tf, "np": np, "keras": tf.keras}, name, None, 0)
            signal.alarm(SECONDS)
            runner.run(test, out=io.StringIO().write)
        except Exception as e:  # pylint: disable=broad-except
            print(f"{name}: {type(e).__name__}")
        finally:
            signal.alarm(0)
    print(f"{len(seen)} docstrings, {runner.tries} examples")


main()
