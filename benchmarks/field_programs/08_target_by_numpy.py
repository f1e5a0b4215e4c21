"""Fitted Q iteration on recorded transitions; the target net follows the online net."""
import numpy as np
import tensorflow as tf

STATE, ACTIONS = 20, 6
BATCH = 32
STEPS = 750
TAU = 0.01


class Log:
    """Recorded transitions of an invented plant."""

    def __init__(self, n=20000, seed=31):
        rng = np.random.default_rng(seed)
        self.rng = rng
        self.s = rng.normal(size=(n, STATE)).astype(np.float32)
        self.a = rng.integers(0, ACTIONS, n).astype(np.int32)
        self.r = np.cos(self.s[:, 0] + self.a).astype(np.float32)
        self.s2 = (0.9 * self.s + 0.1 * rng.normal(size=(n, STATE))).astype(np.float32)

    def sample(self):
        i = self.rng.integers(0, len(self.s), BATCH)
        return [tf.constant(part[i]) for part in (self.s, self.a, self.r, self.s2)]


def q_net():
    return tf.keras.Sequential([
        tf.keras.layers.Input((STATE,)),
        tf.keras.layers.Dense(1600, activation="relu"),
        tf.keras.layers.Dense(1600, activation="relu"),
        tf.keras.layers.Dense(ACTIONS)])


class Agent:
    def __init__(self):
        self.online, self.target = q_net(), q_net()
        self.target.set_weights(self.online.get_weights())
        self.rate = tf.constant(0.01)

    @tf.function
    def learn(self, s, a, r, s2):
        goal = r + 0.95 * tf.reduce_max(self.target(s2), axis=1)
        with tf.GradientTape() as tape:
            q = tf.gather(self.online(s, training=True), a, batch_dims=1)
            loss = tf.reduce_mean((q - goal) ** 2)
        for v, g in zip(self.online.trainable_variables,
                        tape.gradient(loss, self.online.trainable_variables)):
            v.assign_sub(self.rate * g)
        return loss

    def follow(self):
        new = [TAU * o + (1.0 - TAU) * t
               for o, t in zip(self.online.get_weights(), self.target.get_weights())]
        self.target.set_weights(new)


def main():
    log, agent = Log(), Agent()
    for n in range(STEPS):
        loss = agent.learn(*log.sample())
        agent.follow()
        if n % 250 == 0:
            print("step", n, "loss", round(float(loss), 4))
    print("end", float(loss))


if __name__ == "__main__":
    main()
