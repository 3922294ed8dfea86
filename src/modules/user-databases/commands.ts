import { setTimeout as pause } from 'node:timers/promises'
import type { CallOperation, ModuleCommand } from '../module.ts'

const LOOK_MS = 200

export const CREATE_MISSING: ModuleCommand = {
  group: 'databases',
  name: 'create-missing',
  description: 'create the databases of users who have none (user-databases.enabled), and try refused ones again',
  options: [['--all', 'also those that users had, such as after a restore of CouchDB', '']],
  async run(call, { options: { all }, progress }) {
    let [checked, wished] = [0, 0]
    let after: string | undefined
    do {
      const page = await call('database.create-missing', { query: { after, ...(all && { all: 'true' }) } })
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

export const GIVE: ModuleCommand = {
  group: 'databases',
  name: 'give',
  description: 'give a user the refused database of its name, with what an earlier user has written',
  arguments: [['<user>', 'name of the user']],
  async run(call, { arguments: [name = ''] }) {
    const { wished } = await call('user.give-database', { params: { name } })
    const databases = await waitFor(call, name)
    const lines = databases.map(({ server, database, state }) => `${server} ${database}: ${state}`)
    return { result: { wished, databases }, text: lines.join('\n') }
  },
}

/** The databases of the user, as soon as a result is there, or the server tries again. */
async function waitFor(call: CallOperation, name: string) {
  for (;;) {
    const { databases } = await call('user.databases', { params: { name } })
    const isWaiting = databases.some(({ state }) => state === 'waiting')
    if (!isWaiting || (await call('database.users')).problem !== undefined) return databases
    await pause(LOOK_MS)
  }
}

export const LIST_WITHOUT_USER: ModuleCommand = {
  group: 'databases',
  name: 'without-user',
  description: 'list the databases with the names of users that do not exist (user-databases.prefix)',
  async run(call) {
    const { databases } = await call('database.without-user')
    const lines = databases.map(({ server, database, user }) => `${server} ${database}: ${user}`)
    return { result: { databases }, text: lines.join('\n') || 'None.' }
  },
}
