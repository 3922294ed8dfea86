import { Command } from 'commander'
import { type Context, commandError } from './context.ts'
import { type ManageOptions, manage, report, withManageOptions } from './manage.ts'

/** `cardea reload`: what SIGHUP does, with the result. */
export function reloadCommand(context: Context): Command {
  const command = new Command('reload').description(
    'let the running server read its configuration, secrets and certificates again',
  )
  command.option('--rolling', 'also replace the processes that serve, one by one, without a failed request')
  return withManageOptions(command).action((options: ReloadOptions) => reload(context, options))
}

interface ReloadOptions extends ManageOptions {
  readonly rolling?: boolean
}

async function reload(context: Context, options: ReloadOptions): Promise<void> {
  const input = options.rolling ? { body: { rolling: true } } : {}
  const result = await manage(context, options, (control) => control.call('reload', input), { needsServer: true })
  if (!result.applied) {
    const text = ['The configuration was not applied; the server keeps the previous one.', ...result.problems].join(
      '\n',
    )
    throw commandError(options.json ? JSON.stringify(result) : text)
  }
  report(context, options, result, () =>
    [
      result.changed.length > 0 ? `Applied: ${result.changed.join(', ')}.` : 'No option has changed.',
      ...(result.secrets.length > 0 ? [`Loaded: ${result.secrets.join(', ')}.`] : []),
      ...result.needRestart.map((name) => `${name} waits for a restart.`),
      ...(options.rolling ? ['The processes that serve are replaced, one by one.'] : []),
    ].join('\n'),
  )
}
