// The entry of a chart.

import { keepView } from "../shared/mount.js";
import { Chart } from "./view.js";

export default keepView((host) => new Chart(host));
