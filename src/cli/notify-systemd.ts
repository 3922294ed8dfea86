import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import type { Log } from '../base/log.ts'

const run = promisify(execFile)

const MAX_MS = 5000

/**
 * Tells systemd that the doors are open, if it started this process as a service of `Type=notify`. Node cannot write to
 * the socket of systemd, so a process of its own does: the unit needs `NotifyAccess=all`.
 */
export async function notifySystemd(env: Readonly<Record<string, string | undefined>>, log: Log): Promise<void> {
  if (!env['NOTIFY_SOCKET']) return
  try {
    await run('systemd-notify', ['--ready', `--pid=${process.pid}`], { env, timeout: MAX_MS })
  } catch (error) {
    log.warn('systemd-notify failed: install it, or use Type=exec in the unit', { error })
  }
}
