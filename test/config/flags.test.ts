import assert from 'node:assert/strict'
import { test } from 'node:test'
import { splitFlags } from '../../src/config/flags.ts'
import { OPTION_TABLE } from '../../src/module-options.ts'

interface Row {
  readonly argv: readonly string[]
  readonly flags?: readonly string[]
  readonly rest?: readonly string[]
  readonly configs?: readonly string[]
  readonly problems?: readonly string[]
}

const ROWS: Readonly<Record<string, Row>> = {
  'a value after a blank': { argv: ['serve', '--chttpd.port', '0'], flags: ['chttpd.port=0'], rest: ['serve'] },
  'a value after =': { argv: ['--chttpd.port=0', 'serve'], flags: ['chttpd.port=0'], rest: ['serve'] },
  'a value that holds =': { argv: ['--admins.root=a=b'], flags: ['admins.root=a=b'] },
  'an empty value': { argv: ['--chttpd_auth.same_site='], flags: ['chttpd_auth.same_site='] },
  'a value with line ends': { argv: ['--server.jwt-secret=a\nb'], flags: ['server.jwt-secret=a\nb'] },
  'a switch alone at the end': { argv: ['--server.harden'], flags: ['server.harden=true'] },
  'a switch alone before another flag': {
    argv: ['--server.harden', '--chttpd.port', '1'],
    flags: ['server.harden=true', 'chttpd.port=1'],
  },
  'a switch with a value': { argv: ['--server.authentication', 'false'], flags: ['server.authentication=false'] },
  'a switch of an earlier section': { argv: ['--httpd.require_valid_user'], flags: ['httpd.require_valid_user=true'] },
  'a boolean flag with an invalid word takes it, to be reported': {
    argv: ['--server.harden', 'ture'],
    flags: ['server.harden=ture'],
  },
  'an unused switch leaves the command alone': {
    argv: ['--server.disable-authentication', 'serve'],
    flags: ['server.disable-authentication=true'],
    rest: ['serve'],
  },
  'an unused switch with a value': {
    argv: ['--server.disable-authentication', 'false', 'serve'],
    flags: ['server.disable-authentication=false'],
    rest: ['serve'],
  },
  'an unused option takes its value': {
    argv: ['--database.password', 'x', 'serve'],
    flags: ['database.password=x'],
    rest: ['serve'],
  },
  'a name with dots': { argv: ['--admins.j.doe', 'pw'], flags: ['admins.j.doe=pw'] },
  'a hashed password begins with a dash': {
    argv: ['--admins.root', '-pbkdf2-a,b,1'],
    flags: ['admins.root=-pbkdf2-a,b,1'],
  },
  'an unknown flag takes its value along': { argv: ['--foo.bar', '1', 'serve'], flags: ['foo.bar=1'], rest: ['serve'] },
  'flags of the command stay': {
    argv: ['user', 'add', '--name', 'a.b', '--force', '-x'],
    rest: ['user', 'add', '--name', 'a.b', '--force', '-x'],
  },
  'a dot after = is no option': { argv: ['--password=a.b'], rest: ['--password=a.b'] },
  'nothing is read after --': { argv: ['x', '--', '--chttpd.port', '1'], rest: ['x', '--', '--chttpd.port', '1'] },
  'files, in order': { argv: ['-c', 'a', '--config', 'b', '--config=c'], configs: ['a', 'b', 'c'] },
  'a file attached to the short flag': {
    argv: ['serve', '-ca.ini', '-c=b', '-c='],
    rest: ['serve'],
    configs: ['a.ini', 'b', ''],
  },
  'a value is missing at the end': { argv: ['--chttpd.port'], problems: ['--chttpd.port'] },
  'a flag is no value': {
    argv: ['--chttpd.port', '--server.harden'],
    problems: ['--chttpd.port'],
    flags: ['server.harden=true'],
  },
  'a file is missing': { argv: ['--config', '--server.harden'], problems: ['--config'], flags: ['server.harden=true'] },
  'names of the prototype': {
    argv: ['--__proto__.x', '1', '--constructor.y', '2'],
    flags: ['__proto__.x=1', 'constructor.y=2'],
  },
}

for (const [name, row] of Object.entries(ROWS)) {
  test(name, () => {
    const split = splitFlags(row.argv, OPTION_TABLE)
    assert.deepEqual(
      {
        flags: split.flags.map(({ section, key, text }) => `${section}.${key}=${text}`),
        rest: split.rest,
        configs: split.configs,
        problems: split.problems.map(({ place }) => place),
      },
      { flags: row.flags ?? [], rest: row.rest ?? [], configs: row.configs ?? [], problems: row.problems ?? [] },
    )
  })
}

test('records the name of a flag', () => {
  assert.deepEqual(splitFlags(['--chttpd.port=0'], OPTION_TABLE).flags[0]?.source, {
    kind: 'flag',
    name: '--chttpd.port',
  })
})
