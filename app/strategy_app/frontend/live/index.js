// The live view's entry: one view per place on the page, kept while the page reruns around it.

import { keepView } from "../shared/mount.js";
import { LiveView } from "./view.js";

export default keepView((host, data) => new LiveView(host, data));
