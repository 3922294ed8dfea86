// The document door of Cardea in a process of its own, put together from its parts: `observed`, with audit trail and
// metrics as in the product, or `unobserved`, where these parts do nothing. Arguments: folder, observed | unobserved.
// Prints its port.
import { SILENT_LOG } from '../../../src/base/log.ts'
import { listen } from '../../../src/http/server.ts'
import { createLiveConfig } from '../../../src/live-config/live-config.ts'
import { openConfiguration } from '../../../src/live-config/load.ts'
import { createMetrics } from '../../../src/observe/metrics.ts'
import { createPartObserver } from '../../../src/observe/part-metrics.ts'
import { createDocumentDoor } from '../../../src/wiring/document-door.ts'
import { createDoorParts } from '../../../src/wiring/door-parts.ts'
import { openParts } from '../../../src/wiring/opened-parts.ts'
import { toListenerLimits } from '../../../src/wiring/settings.ts'

const nothing = () => {}
const NO_EVENTS = { record: nothing, requireRecording: nothing, flush: nothing }
const NO_AUDIT = { append: nothing, onRecord: () => nothing, listDestinations: () => [], requireRecording: nothing }
const NO_METRICS = {
  counter: () => ({ count: 0 }),
  histogram: () => ({ observe: nothing }),
  collect: nothing,
  read: () => [],
}

const [folder, kind] = process.argv.slice(2)
const isObserved = kind === 'observed'

async function openDoorParts() {
  const metrics = isObserved ? createMetrics() : NO_METRICS
  const flags = { configs: [folder], flags: [], problems: [] }
  const opened = await createLiveConfig({
    load: () => openConfiguration({ flags, env: {}, cwd: folder }),
    log: SILENT_LOG,
    ...(isObserved && { observer: createPartObserver(metrics) }),
  })
  const liveConfig = isObserved ? opened : { ...opened, events: NO_EVENTS, audit: NO_AUDIT }
  const parts = await openParts(liveConfig, SILENT_LOG, metrics)
  return createDoorParts(isObserved ? parts : { ...parts, observeRequests: () => undefined })
}

const parts = await openDoorParts()
const { values } = parts.liveConfig.get().settings
const endpoint = { kind: 'tcp', host: '127.0.0.1', port: 0 }
const { url } = await listen(createDocumentDoor(parts), endpoint, toListenerLimits(values))
process.stdout.write(`${JSON.stringify({ port: Number(new URL(url).port) })}\n`)
