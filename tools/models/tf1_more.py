# SPDX-License-Identifier: Apache-2.0
from models.common import *  # noqa: F403
