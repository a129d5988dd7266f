#!/usr/bin/env python3
"""The callbacks, held by trainers that call them as the real ones do."""
import copy
import pickle
import types
import unittest

import chokepoint
from chokepoint import marking
from listener import Listener
from trainers import Lightning, Transformers, TransformersTrainer


class Batches(list):
    batch_size = 4


def arguments(**more):
    return types.SimpleNamespace(**{"train_batch_size": 4, "gradient_accumulation_steps": 1,
                                    "num_train_epochs": 1, **more})


class OfLightning(unittest.TestCase):
    def test_one_that_is_no_list(self):
        marking._link = None
        with Lightning() as framework, Listener() as listener:
            framework._put["lightning.pytorch"].Trainer(
                callbacks=chokepoint.LightningCallback()).fit("model", Batches("a"))
            self.assertIn("step 0 samples=4", listener.said())

    def fit(self, framework, callback, **how):
        """Marks, taken at each hook, so that none is lost."""
        marking._link = None
        found = []
        with Listener() as listener:
            trainer = framework._put[framework.package].Trainer(callbacks=[callback], **how)
            called = trainer._call

            def call(hook, *arguments):
                called(hook, *arguments)
                found.extend(listener.said())
            trainer._call = call
            trainer.fit("model", Batches("abcde"))
        return found

    def steps(self, *arguments, **how):
        return [text for text in self.fit(*arguments, **how) if text.startswith("step ")]

    def test_all_epochs(self):
        with Lightning() as framework:
            found = self.fit(framework, chokepoint.LightningCallback(), max_epochs=2)
        epoch = ["epoch-start {0}", "step {1} samples=4", "step {2} samples=4",
                 "step {3} samples=4", "step {4} samples=4", "step {5} samples=4",
                 "validation-start {6}",
                 "validation-end {6}", "checkpoint {6}"]
        self.assertEqual(found, [
            "validation-start 0", "validation-end 0", "train-start 0",
            *(text.format(0, *range(6)) for text in epoch),
            *(text.format(1, *range(5, 11)) for text in epoch), "train-end 10"])

    def test_a_step_is_the_optimizers(self):
        with Lightning() as framework:
            self.assertEqual(
                self.steps(framework, chokepoint.LightningCallback(), accumulate_grad_batches=2),
                ["step 0 samples=8", "step 1 samples=8", "step 2 samples=8"])

    def test_samples_that_are_given(self):
        with Lightning() as framework:
            self.assertEqual(self.steps(framework, chokepoint.LightningCallback(samples=7))[0],
                             "step 0 samples=7")

    def test_it_is_a_callback_of_either_package(self):
        for package in ("lightning.pytorch", "pytorch_lightning"):
            with Lightning(package) as framework:
                callback = chokepoint.LightningCallback()
                self.assertIsInstance(callback, framework.Callback)
                self.assertIsInstance(callback, chokepoint.LightningCallback)
        with Lightning() as one, Lightning("pytorch_lightning") as other:
            callback = chokepoint.LightningCallback()
            self.assertIsInstance(callback, one.Callback)
            self.assertIsInstance(callback, other.Callback)

    def test_made_before_the_framework_is_there(self):
        callback = chokepoint.LightningCallback(samples=2)
        with Lightning() as framework:
            self.assertIsInstance(callback, framework.Callback)
            self.assertEqual(len(self.steps(framework, callback)), 5)
            self.assertIsInstance(callback, chokepoint.LightningCallback)

    def test_copies(self):
        with Lightning() as framework:
            for made in (pickle.loads(pickle.dumps(chokepoint.LightningCallback(samples=3))),
                         copy.deepcopy(chokepoint.LightningCallback(samples=3))):
                self.assertIsInstance(made, framework.Callback)
                self.assertEqual(made.samples, 3)
        self.assertEqual(pickle.loads(pickle.dumps(chokepoint.LightningCallback(3))).samples, 3)

    def test_a_class_of_ones_own(self):
        with Lightning() as framework:
            own = Own()
            self.assertIsInstance(own, framework.Callback)
            self.assertEqual(self.steps(framework, own)[0], "step 0 samples=4")
            self.assertGreater(own.seen, 0)
            self.assertIsInstance(pickle.loads(pickle.dumps(own)), Own)

    def test_a_trainer_of_another_kind_does_no_harm(self):
        callback = chokepoint.LightningCallback()
        for hook in dir(chokepoint.LightningCallback):
            if hook.startswith("on_"):
                getattr(callback, hook)(None, None, None, None)


class Own(chokepoint.LightningCallback):
    def __init__(self):
        super().__init__()
        self.seen = 0

    def on_train_batch_end(self, *arguments):
        super().on_train_batch_end(*arguments)
        self.seen += 1


class OfTransformers(unittest.TestCase):
    def train(self, callback, count=3, **more):
        marking._link = None
        found = []
        with Listener() as listener:
            trainer = TransformersTrainer(args=arguments(**more), train_dataset=range(count),
                                          callbacks=[callback])
            called = trainer._call

            def call(event, **kwargs):
                called(event, **kwargs)
                found.extend(listener.said())
            trainer._call = call
            trainer.train()
        return found

    def test_steps_and_events(self):
        with Transformers():
            for callback in (chokepoint.TransformersCallback, chokepoint.TransformersCallback()):
                self.assertEqual(self.train(callback, num_train_epochs=2), [
                    "train-start 0",
                    "epoch-start 0", "step 0 samples=4", "step 1 samples=4", "step 2 samples=4",
                    "evaluation-start 3", "evaluation-end 3", "checkpoint 3",
                    "epoch-start 1", "step 3 samples=4", "step 4 samples=4", "step 5 samples=4",
                    "evaluation-start 6", "evaluation-end 6", "checkpoint 6",
                    "train-end 6"])

    def test_a_step_is_the_optimizers(self):
        with Transformers():
            found = self.train(chokepoint.TransformersCallback(), count=4,
                               gradient_accumulation_steps=2)
            self.assertEqual([text for text in found if text.startswith("step ")],
                             ["step 0 samples=8", "step 1 samples=8"])

    def test_it_is_a_callback(self):
        before = chokepoint.TransformersCallback()
        with Transformers() as framework:
            for callback in (before, chokepoint.TransformersCallback()):
                self.assertIsInstance(callback, framework.TrainerCallback)
            trainer = TransformersTrainer(args=arguments(), callbacks=[callback])
            trainer.remove_callback(chokepoint.TransformersCallback)
            self.assertEqual(trainer.callbacks, [])

    def test_made_before_the_framework_is_there(self):
        self.assertIn("step 0 samples=4", self.train(chokepoint.TransformersCallback()))

    def test_copies(self):
        with Transformers() as framework:
            made = pickle.loads(pickle.dumps(chokepoint.TransformersCallback(samples=3)))
            self.assertIsInstance(made, framework.TrainerCallback)
            self.assertEqual(made.samples, 3)

    def test_arguments_of_another_kind_do_no_harm(self):
        callback = chokepoint.TransformersCallback()
        for event in Transformers.EVENTS:
            getattr(callback, event)(None, None, None, whatever=1)


if __name__ == "__main__":
    unittest.main()
