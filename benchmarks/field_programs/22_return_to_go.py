"""Policy gradient for long episodes of a valve; returns are computed in the graph."""
import time

import numpy as np
import tensorflow as tf

EPISODES = 16
HORIZON = 600
OBSERVATION = 12
ACTIONS = 4
UPDATES = 1500
DISCOUNT = 0.97


def play(rng):
    """Pretends to be the simulator: observations, actions and rewards of a batch."""
    observation = rng.normal(0.0, 1.0, (EPISODES, HORIZON, OBSERVATION)).astype("float32")
    action = rng.integers(0, ACTIONS, (EPISODES, HORIZON)).astype("int32")
    good = np.argmax(observation[..., :ACTIONS], axis=-1)
    reward = (action == good).astype("float32") - 0.25
    return observation, action, reward


def returns_to_go(reward):
    """Discounted sum of the rewards from each moment to the end of the episode."""
    backwards = tf.reverse(tf.transpose(reward), [0])
    summed = tf.scan(lambda total, r: r + DISCOUNT * total, backwards)
    return tf.transpose(tf.reverse(summed, [0]))


class Policy(tf.Module):
    def __init__(self):
        super().__init__()
        self.net = tf.keras.Sequential([
            tf.keras.Input((OBSERVATION,)),
            tf.keras.layers.Dense(32, activation="tanh"),
            tf.keras.layers.Dense(ACTIONS)])
        self.baseline = tf.Variable(0.0, trainable=False)
        self.optimizer = tf.keras.optimizers.Adam(2e-3)

    @tf.function
    def update(self, observation, action, reward):
        returns = returns_to_go(reward)
        advantage = returns - self.baseline
        self.baseline.assign(0.95 * self.baseline + 0.05 * tf.reduce_mean(returns))
        with tf.GradientTape() as tape:
            flat = tf.reshape(observation, (-1, OBSERVATION))
            logits = tf.reshape(self.net(flat), (EPISODES, HORIZON, ACTIONS))
            negative = tf.nn.sparse_softmax_cross_entropy_with_logits(action, logits)
            loss = tf.reduce_mean(negative * advantage)
        weights = self.net.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
        return loss, tf.reduce_mean(returns[:, 0])


def main():
    tf.keras.utils.set_random_seed(18)
    rng = np.random.default_rng(18)
    rollouts = [tuple(map(tf.constant, play(rng))) for _ in range(8)]
    policy = Policy()
    begin = time.perf_counter()
    for number in range(UPDATES):
        loss, first = policy.update(*rollouts[number % len(rollouts)])
        if number % 300 == 0:
            print(f"update {number}: loss {float(loss):.3f}, return {float(first):.2f}")
    print(f"training took {time.perf_counter() - begin:.1f} s")


if __name__ == "__main__":
    main()
