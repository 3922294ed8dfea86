import { plural, toCount } from './numbers.ts'

const LEVELS = { rw: 'read and write', ro: 'read', none: 'no access' }

export interface Affected {
  readonly name: string
  readonly sessions: number
}

/** What several pages say. */
export const shared = {
  product: 'Cardea',
  actions: {
    cancel: 'Cancel',
    close: 'Close',
    retry: 'Try again',
    undo: 'Undo',
    copy: 'Copy',
    copied: 'Copied',
    download: 'Download',
    print: 'Print',
    done: 'Done',
    add: 'Add',
    remove: 'Remove',
    more: 'Show more',
    signIn: 'Sign in',
  },
  states: {
    loading: 'Loading',
    waiting: 'Still waiting for the server.',
    failed: (what: string) => `${what} could not be loaded`,
    onlyThis: 'Only this view is affected.',
    storeDown:
      'Users that this node has read recently can still sign in, for as long as store.max-staleness says. Everything else fails until the store is back: other sign-ins, changes, and these pages.',
    guide: 'The guide is',
    shownOnce: 'Shown once. Copy it now; it does not come back.',
    progress: (done: number, total: number) => `${toCount(done)} of ${plural(total, 'user', 'users')}`,
  },
  errors: {
    unknown: 'The request failed.',
    unreachable: 'The server does not respond. Check that Cardea is running, then try again.',
    status: (status: number) => `The server answered with status ${status}.`,
  },
  time: {
    now: 'just now',
    ago: (amount: string) => `${amount} ago`,
    in: (amount: string) => `in ${amount}`,
    days: 'd',
    hours: 'h',
    minutes: 'min',
    seconds: 's',
    never: 'never',
  },
  table: {
    sort: 'Sort by this column',
    selectAll: 'Select all',
    selectAllOf: (total: number) => `Select all ${toCount(total)}`,
    selectFirst: (count: number) => `Select the first ${toCount(count)}`,
    select: (name: string) => `Select ${name}`,
    clear: 'Clear selection',
  },
  proof: {
    title: 'Confirm your password',
    titleOrPasskey: 'Confirm that it is you',
    text: 'You signed in some time ago. This change needs your password again.',
    textOrPasskey: 'This change needs a passkey or your password.',
    passkey: 'Use a passkey',
    cancelled: 'No passkey was used.',
    password: 'Your password',
    action: 'Confirm',
  },
  password: {
    show: 'Show',
    hide: 'Hide',
    suggest: 'Suggest',
  },
  names: {
    hint: 'Enter adds a name.',
    remove: (name: string) => `Remove ${name}`,
  },
  chart: {
    time: 'Time',
    noValue: '–',
    restart: 'restart',
    asTable: 'Press t for a table of the same values.',
  },
  sharedValue: {
    overridden: (by = 'Someone', value: string) => `${by} has set it to ${value} in the meantime.`,
    empty: 'empty',
    keep: (value: string) => `Keep ${value}`,
    replace: (value: string) => `Go on with ${value}`,
  },
  recoveryCodes: {
    codes: 'Recovery codes',
    codesText:
      'Each of these codes replaces a one-time code once, if the phone is lost. Keep them where you keep passwords.',
    codesOf: (name: string, host: string) => `Recovery codes of ${name} at ${host}`,
    kept: 'I have kept them',
  },
  users: {
    what: 'The users',
    name: 'Name',
    status: 'Status',
    active: 'active',
    noPassword: 'no password',
    roles: 'Roles',
    noRoles: 'No roles.',
    databases: 'Databases',
    database: 'Database',
    level: 'Level',
    levels: LEVELS,
    grantChanged: (place: string, level: keyof typeof LEVELS | null) =>
      level === null ? `The grant on ${place} was removed.` : `The grant on ${place} is now: ${LEVELS[level]}.`,
    firstOf: (count: number, total: number | undefined) =>
      `${toCount(count)} of ${total === undefined ? 'more than 500' : toCount(total)} users`,
    lastSignIn: 'Last sign-in',
    noSignIn: 'never',
    from: 'from',
    expires: 'Expires',
    secondFactor: 'Second factor',
    totpOn: 'one-time codes',
    passkeyOn: 'passkey',
    totpOff: 'none',
    password: 'Password',
    rounds: (count: number) => plural(count, 'round', 'rounds'),
    newPassword: 'New password',
    setPassword: 'Set password',
    setPasswordOf: (name: string) => `Set the password of ${name}`,
    passwordSet: (name: string) => `The password of ${name} was set.`,
    sessionsEnd: (count: number) =>
      count === 0 ? 'No session is open.' : `${plural(count, 'session', 'sessions')} will end.`,
    role: (name: string) => `role ${name}`,
  },
  userActions: {
    signOut: {
      short: 'End sessions',
      label: (name: string) => `End all sessions of ${name}`,
      effect: ({ sessions }: Affected) =>
        `${plural(sessions, 'session ends', 'sessions end')} at once, at both doors. Access tokens stay.`,
      done: (name: string) => `All sessions of ${name} have ended.`,
    },
    resetTotp: {
      short: 'Reset second factor',
      label: (name: string) => `Reset the second factor of ${name}`,
      effect: ({ name }: Affected) => `${name} signs in with the password alone until a new second factor is set up.`,
      done: (name: string) => `${name} has no second factor now.`,
    },
  },
  sessions: {
    title: 'Sessions',
    what: 'The sessions',
    none: 'No session is open.',
    client: 'Client',
    seen: 'Last seen',
    end: 'End',
    endFrom: (peer: string) => `End the session from ${peer}`,
    ended: 'The session has ended.',
    current: 'this session',
    noAgent: 'unknown client',
    endOthers: 'End all other sessions',
    endOthersText: (count: number) =>
      `${plural(count, 'other session ends', 'other sessions end')} at once, at both doors.`,
    endAllText: (count: number) => `${plural(count, 'session ends', 'sessions end')} at once, at both doors.`,
    endedCount: (count: number) => `${plural(count, 'session has', 'sessions have')} ended.`,
  },
  audit: {
    what: 'The audit trail',
    unnamed: 'a client',
    time: 'Time',
  },
  doors: {
    document: 'document door',
    'multi-model': 'multi-model door',
    admin: 'console',
    control: 'console',
  } as Readonly<Record<string, string>>,
} as const
