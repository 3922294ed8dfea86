import { Command } from 'commander'
import { type Context, EXIT, ExitError } from './context.ts'
import { type ManageOptions, manage, report, withExitCodes, withManageOptions } from './manage.ts'

/** `cardea reload`: what SIGHUP does, with the result. */
export function reloadCommand(context: Context): Command {
  const command = new Command('reload').description(
    'let the running server read its configuration, secrets and certificates again',
  )
  return withExitCodes(withManageOptions(command)).action((options: ManageOptions) => reload(context, options))
}

async function reload(context: Context, options: ManageOptions): Promise<void> {
  const result = await manage(context, options, (control) => control.call('reload'), { needsServer: true })
  if (!result.applied) {
    const text = ['The configuration was not applied; the server keeps the previous one.', ...result.problems].join(
      '\n',
    )
    throw new ExitError(EXIT.failed, options.json ? JSON.stringify(result) : text)
  }
  report(context, options, result, () =>
    [
      result.changed.length > 0 ? `Applied: ${result.changed.join(', ')}.` : 'No option has changed.',
      ...(result.secrets.length > 0 ? [`Loaded: ${result.secrets.join(', ')}.`] : []),
      ...(result.needRestart.length > 0 ? [`After a restart: ${result.needRestart.join(', ')}.`] : []),
    ].join('\n'),
  )
}
