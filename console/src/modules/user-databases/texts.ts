export const texts = {
  title: 'Own databases',
  database: 'Database',
  state: 'State',
  states: {
    ready: 'Ready',
    waiting: 'Waiting',
    refused: 'Refused',
    missing: 'Missing until the next sign-in',
  },
  waiting: (count: number, problem?: string) =>
    `Databases of users that wait to be created or changed: ${count}.${problem === undefined ? '' : ` ${problem}`}`,
  refused: (database: string, user: string, reason: string) =>
    `${user} does not get ${database}: ${reason}. To decide: cardea databases give ${user}`,
} as const
