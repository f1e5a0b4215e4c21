"""Radio station from a short spectrum: two heads trained by turns on a common trunk."""
import numpy as np
import keras

BINS, STATIONS, CITIES = 96, 20, 5


def spectra(n=4096, seed=35):
    rng = np.random.default_rng(seed)
    station = rng.integers(0, STATIONS, n).astype("int32")
    x = rng.standard_normal((n, BINS)).astype("float32")
    x[np.arange(n), station * 4] += 2.0
    return x, station, (station % CITIES).astype("int32")


class TwoHeads:
    def __init__(self):
        inp = keras.Input((BINS,))
        h = keras.layers.Dense(128, activation="relu")(inp)
        h = keras.layers.Dense(128, activation="relu")(h)
        self.trunk = keras.Model(inp, h, name="trunk")
        self.station = keras.Sequential([keras.Input((128,)), keras.layers.Dense(STATIONS)])
        self.city = keras.Sequential([keras.Input((128,)), keras.layers.Dense(CITIES)])
        self.by_station = keras.Model(inp, self.station(self.trunk(inp)))
        self.by_city = keras.Model(inp, self.city(self.trunk(inp)))
        self.rates = {"station": 2e-3, "city": 1e-3}
        self.optimizers = {}

    def prepare(self, model, part, learn_trunk):
        self.trunk.trainable = learn_trunk
        model.compile(optimizer=keras.optimizers.SGD(self.rates[part]),
                      loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True))

    def turn(self, x, station, city):
        self.prepare(self.by_station, "station", True)
        a = self.by_station.train_on_batch(x, station)
        self.prepare(self.by_city, "city", False)
        b = self.by_city.train_on_batch(x, city)
        return float(a), float(b)


def main():
    keras.utils.set_random_seed(20)
    x, station, city = spectra()
    heads = TwoHeads()
    rng = np.random.default_rng(0)
    for i in range(100):
        rows = rng.integers(0, len(x), 64)
        losses = heads.turn(x[rows], station[rows], city[rows])
        if i % 20 == 0:
            print(i, "station %.3f city %.3f" % losses)


if __name__ == "__main__":
    main()
