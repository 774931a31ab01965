// @ts-check
/** On the page that says that a report is gone: takes it off the list of the landing page. */

import { withoutSeen } from "./landing_list.js";
import { readSeen, writeSeen } from "./landing_storage.js";

const [gone] = location.pathname.match(/^.*\/r\/[\w-]+(?=(\/delete)?$)/) ?? [];
if (gone) writeSeen(withoutSeen(readSeen(), gone));
