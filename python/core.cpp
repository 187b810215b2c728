// SPDX-License-Identifier: Apache-2.0
// The public API for Python: arrays in and out without a copy, the interpreter's lock released while work
// goes on. What users meet is filigree_nn/*.py, which turns their arguments into what stands here.
#include "arrays.h"
#include "calls.h"

using namespace filigree;
using namespace filigree::python;

NB_MODULE(_core, m) {
  m.attr("__version__") = FILIGREE_VERSION;
  m.def("shut_down", &Working::close);
  Working::forget_in_children();

  static const nb::exception<Error> error(m, "Error", PyExc_ValueError);
  nb::register_exception_translator([](const std::exception_ptr& p, void*) {
    try {
      std::rethrow_exception(p);
    } catch (const Cancelled&) {
      PyErr_SetNone(PyExc_KeyboardInterrupt);
    }
  });

  bind_rows(m);
  bind_networks(m);
  bind_products(m);
  bind_training(m);
  bind_recipes(m);

  // Threads of everything that the calling thread does while it lives.
  nb::class_<Session>(m, "Session").def("__init__", [](Session* self, int threads) {
    new (self) Session(SessionOptions{threads});
  });
  m.def("in_session", [](const Session& session, const nb::callable& work) {
    const Session::Use use(session);
    return work();
  });
}
