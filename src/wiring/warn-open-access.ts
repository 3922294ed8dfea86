import type { Config } from '../config/options.ts'
import type { DoorParts } from './doors.ts'

/** What an option opens while Cardea runs is said in the log as loudly as at the start, each time anew. */
export function warnOfOpenings(
  { liveConfig, log }: Pick<DoorParts, 'liveConfig' | 'log'>,
  describe: (config: Config) => readonly string[],
): void {
  let before = describe(liveConfig.get().settings.values)
  liveConfig.onChange(({ settings }) => {
    const now = describe(settings.values)
    for (const line of now) if (!before.includes(line)) log.warn(line)
    before = now
  })
}
