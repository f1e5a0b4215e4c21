// The entry of the delay sliders of a run that goes on.

import { keepView } from "../shared/mount.js";
import { Delays } from "./view.js";

export default keepView((host) => new Delays(host));
