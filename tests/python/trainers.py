"""Trainers that call hooks in the order of the real ones, and ask of a callback what they ask.

Lightning: github.com/Lightning-AI/pytorch-lightning at the tags 1.9.5, 2.0.9, 2.1.4, 2.2.5, 2.5.5
  and at 7f0c3436 (2.6.2), src/lightning/pytorch: trainer/connectors/callback_connector.py
  (on_trainer_init), trainer/call.py (_call_callback_hooks), loops/fit_loop.py, loops/training_epoch_loop.py (advance, on_advance_end),
  utilities/model_helpers.py (is_overridden), trainer/configuration_validator.py.
Hugging Face: github.com/huggingface/transformers, src/transformers/trainer_callback.py
  (CallbackHandler) at 01081ce2, 55093b75 and a later one with on_push_begin; src/transformers/
  trainer.py (_inner_training_loop, _maybe_log_save_evaluate).
"""
import sys
import types


class Lightning:
    """Puts the modules there, as `import lightning.pytorch` does."""

    def __init__(self, package="lightning.pytorch"):
        self.package = package

    def __enter__(self):
        self.Callback = type("Callback", (), {
            **{name: lambda *_, **__: None for name in
               ("setup teardown state_dict load_state_dict on_load_checkpoint on_save_checkpoint "
                "on_fit_start on_fit_end on_sanity_check_start on_sanity_check_end on_train_start "
                "on_train_end on_train_epoch_start on_train_epoch_end on_train_batch_start "
                "on_train_batch_end on_validation_start on_validation_end on_test_start "
                "on_test_end on_validation_epoch_start on_validation_epoch_end on_before_zero_grad "
                "on_before_backward on_after_backward on_before_optimizer_step").split()},
            "state_key": property(lambda self: self.__class__.__qualname__)})
        self._put = {}
        names = self.package.split(".")
        for end in range(1, len(names) + 1):
            self._put[".".join(names[:end])] = types.ModuleType(names[end - 1])
        self._put[self.package].Callback = self.Callback
        for name in ("callbacks", "callbacks.callback"):
            module = types.ModuleType(name)
            module.Callback = self.Callback
            self._put[f"{self.package}.{name}"] = module
        self._put[self.package].Trainer = lambda **how: LightningTrainer(self.Callback, **how)
        sys.modules.update(self._put)
        return self

    def __exit__(self, *_):
        for name in self._put:
            sys.modules.pop(name, None)


class LightningTrainer:
    def __init__(self, callback_class, callbacks=None, accumulate_grad_batches=1, max_epochs=1,
                 loggers=(), is_global_zero=True):
        self._callback_class = callback_class
        if isinstance(callbacks, callback_class):
            callbacks = [callbacks]
        self.callbacks = callbacks or []
        self.accumulate_grad_batches = accumulate_grad_batches
        self.max_epochs = max_epochs
        self.global_step = self.current_epoch = 0
        self.train_dataloader = None
        self.loggers, self.is_global_zero = list(loggers), is_global_zero
        for callback in self.callbacks:
            if not isinstance(callback, callback_class):
                raise ValueError("Expected a parent")  # is_overridden of 2.2
            # _check_deprecated_callback_hooks of 2.0
            for hook in ("on_init_start", "on_init_end", "on_configure_sharded_model",
                         "on_before_accelerator_backend_setup", "on_batch_start"):
                if callable(getattr(callback, hook, None)):
                    raise RuntimeError(f"the hook {hook} is no longer supported")

    def _call(self, hook, *arguments):
        for callback in self.callbacks:
            hook_of_it = getattr(callback, hook)
            if callable(hook_of_it):
                assert callback.state_key
                hook_of_it(self, "module", *arguments)

    def _validate(self):
        for hook in ("on_validation_start", "on_validation_epoch_start", "on_validation_epoch_end",
                     "on_validation_end"):
            self._call(hook)

    def fit(self, model, batches):
        self.train_dataloader = batches
        self._call("setup", "fit")
        self._call("on_fit_start")
        self._call("on_sanity_check_start")
        self._validate()
        self._call("on_sanity_check_end")
        self._call("on_train_start")
        for self.current_epoch in range(self.max_epochs):
            self._call("on_train_epoch_start")
            self._train(list(batches))
            self._call("on_train_epoch_end")
            self._call("on_save_checkpoint", {})
        self._call("on_train_end")
        self._call("on_fit_end")
        self._call("teardown", "fit")

    def _train(self, batches):
        for index, batch in enumerate(batches):
            self._call("on_train_batch_start", batch, index)
            self._call("on_before_zero_grad", "optimizer")
            self._call("on_before_backward", "loss")
            self._call("on_after_backward")
            is_last = index + 1 == len(batches)
            if (index + 1) % self.accumulate_grad_batches == 0 or is_last:
                self._call("on_before_optimizer_step", "optimizer")
                self.global_step += 1
            self._call("on_train_batch_end", "outputs", batch, index)
            if is_last:
                self._validate()


class Transformers:
    """Puts the module there, as `import transformers` does."""

    EVENTS = ("on_init_end on_train_begin on_train_end on_epoch_begin on_epoch_end on_step_begin "
              "on_pre_optimizer_step on_optimizer_step on_substep_end on_step_end on_evaluate "
              "on_predict on_save on_log on_prediction_step on_push_begin").split()

    def __enter__(self):
        self.TrainerCallback = type("TrainerCallback", (),
                                    {name: lambda *_, **__: None for name in self.EVENTS})
        top, module = types.ModuleType("transformers"), types.ModuleType("trainer_callback")
        module.TrainerCallback = top.TrainerCallback = self.TrainerCallback
        top.Trainer, top.TrainingArguments = TransformersTrainer, types.SimpleNamespace
        sys.modules.update({"transformers": top, "transformers.trainer_callback": module})
        return self

    def __exit__(self, *_):
        for name in ("transformers", "transformers.trainer_callback"):
            sys.modules.pop(name, None)


class TransformersTrainer:
    def __init__(self, model=None, args=None, train_dataset=(), callbacks=()):
        self.args = args
        self.batches = list(train_dataset)
        self.state = types.SimpleNamespace(global_step=0, epoch=0.0, log_history=[],
                                           is_world_process_zero=True)
        self.callbacks = [callback() if isinstance(callback, type) else callback
                          for callback in callbacks]
        self._call("on_init_end")

    def add_callback(self, callback):
        self.callbacks.append(callback)

    def log(self, logs, start_time=None):
        self.state.log_history.append({**logs, "step": self.state.global_step})
        self._call("on_log", logs=logs)

    def remove_callback(self, kind):
        self.callbacks = [callback for callback in self.callbacks if not isinstance(callback, kind)]

    def _call(self, event, **kwargs):
        control = "control"
        for callback in self.callbacks:
            result = getattr(callback, event)(
                self.args, self.state, control, model="model", processing_class=None,
                optimizer=None, lr_scheduler=None, train_dataloader=None, eval_dataloader=None,
                **kwargs)
            assert result is None, "a callback that returns something takes the control's place"

    def evaluate(self):
        for _ in range(3):
            self._call("on_prediction_step")
        self._call("on_evaluate", metrics={})

    def train(self):
        accumulated = self.args.gradient_accumulation_steps
        self._call("on_train_begin")
        for epoch in range(self.args.num_train_epochs):
            self.state.epoch = float(epoch)
            self._call("on_epoch_begin")
            for index in range(len(self.batches)):
                if index % accumulated == 0:
                    self._call("on_step_begin")
                if (index + 1) % accumulated and index + 1 < len(self.batches):
                    self._call("on_substep_end")
                    continue
                self._call("on_pre_optimizer_step")
                self._call("on_optimizer_step")
                self.state.global_step += 1
                self._call("on_step_end")
            self._call("on_epoch_end")
            self._call("on_log", logs={})
            self.evaluate()
            self._call("on_save")
        self._call("on_train_end")
