"""The package itself as the decorator @mdh."""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING, Any, Callable, Dict, Optional, overload

from .dsl import Declarations, mdh
from .expression import Expression


class CallablePackage(ModuleType):
    """A package that is the decorator, too: both `import mdh` and `from mdh import *` may stand in one
    file, in any order. Type checkers, to which a module cannot be called, want one of them: after
    `from mdh import *` alone `mdh` is the decorator and has all names, and after `import mdh` alone
    the decorator is @mdh.mdh."""

    @overload
    def __call__(self, function: Callable[..., Any], /) -> Expression: ...

    @overload
    def __call__(
        self, *declarations: Declarations, accumulate: Optional[Dict[str, Any]] = None
    ) -> Callable[[Callable[..., Any]], Expression]: ...

    def __call__(self, *declarations: Any, **options: Any) -> Any:
        return mdh(*declarations, **options)

    if TYPE_CHECKING:
        def __getattr__(self, name: str) -> Any: ...
