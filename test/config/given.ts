import { splitFlags } from '../../src/config/flags.ts'
import type { IniFile } from '../../src/config/ini.ts'
import type { RuntimeEntry } from '../../src/config/layers.ts'
import { renderProblem } from '../../src/config/problems.ts'
import { type ConfigReading, readSettings } from '../../src/config/read.ts'
import { OPTION_TABLE } from '../../src/module-options.ts'

export interface Given {
  /** Text of `/etc/cardea/local.ini`. */
  readonly ini?: string
  readonly files?: readonly IniFile[]
  readonly env?: Readonly<Record<string, string>>
  readonly argv?: readonly string[]
  readonly runtime?: readonly RuntimeEntry[]
  /** Files that hold secrets, by absolute path. */
  readonly secrets?: Readonly<Record<string, string>>
}

/** Reads settings with nothing but what a row gives. */
export function read({ ini, files = [], env = {}, argv = [], runtime = [], secrets = {} }: Given): ConfigReading {
  const known = new Map(Object.entries(secrets))
  const flags = splitFlags(argv, OPTION_TABLE)
  const reading = readSettings({
    table: OPTION_TABLE,
    files: ini === undefined ? files : [{ path: '/etc/cardea/local.ini', text: ini }],
    runtime,
    environment: env,
    flags: flags.flags,
    cwd: '/srv',
    readSecret: (path) => {
      const text = known.get(path)
      if (text === undefined) throw new Error('there is no such file')
      return text
    },
  })
  return { ...reading, problems: [...flags.problems, ...reading.problems] }
}

export const problemsOf = (given: Given): string[] => read(given).problems.map(renderProblem)
