import { setTimeout as pause } from 'node:timers/promises'
import type { ModuleCommand } from '../module.ts'

const LOOK_MS = 200

export const CREATE_MISSING: ModuleCommand = {
  group: 'databases',
  name: 'create-missing',
  description: 'create the databases of users who have none (user-databases.enabled), and try refused ones again',
  async run(call, { progress }) {
    let [checked, wished] = [0, 0]
    let after: string | undefined
    do {
      const page = await call('database.create-missing', { query: { after } })
      checked += page.checked
      wished += page.wished
      progress({ done: 0, total: undefined, records: checked })
      after = page.next
    } while (after !== undefined)
    let summary = await call('database.users')
    // the server goes on without this command
    for (; summary.waiting > 0 && summary.problem === undefined; summary = await call('database.users')) {
      progress({ done: wished - summary.waiting, total: wished, records: wished - summary.waiting })
      await pause(LOOK_MS)
    }
    const { waiting, problem, refused } = summary
    const lines = [
      `Users: ${checked}. Databases to create: ${wished}. Waiting: ${waiting}.`,
      ...(problem === undefined ? [] : [`The server tries again: ${problem}`]),
      ...refused.map(({ user, database, reason }) => `Refused: ${database} for ${user}: ${reason}.`),
    ]
    return {
      result: { checked, wished, waiting, ...(problem !== undefined && { problem }), refused },
      text: lines.join('\n'),
    }
  },
}
