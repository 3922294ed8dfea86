// Authorities and client certificates, made by openssl.
import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

export interface Certificate {
  readonly cert: string
  readonly key: string
}

export interface CertificateOptions {
  /** The subject, for example `/CN=ada`. */
  readonly subject: string
  /** `YYYYMMDDHHMMSSZ` */
  readonly from?: string
  readonly to?: string
  readonly usage?: 'clientAuth' | 'serverAuth'
  /** An IP address of the server. */
  readonly address?: string
}

export interface Authority {
  /** PEM text of its own certificate. */
  readonly cert: string
  issue(options: CertificateOptions): Certificate
  revoke(certificate: Certificate): void
  /** PEM text of its revocation list. */
  listRevoked(): string
}

const CONFIG = `
[ca]
default_ca = own
[own]
new_certs_dir = .
database = index.txt
serial = serial
crlnumber = serial
default_md = sha256
default_days = 30
default_crl_days = 30
policy = any
unique_subject = no
email_in_dn = yes
copy_extensions = copy
[any]
commonName = optional
organizationName = optional
[clientAuth]
extendedKeyUsage = clientAuth
[serverAuth]
extendedKeyUsage = serverAuth
`

const NEW_KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes']

/** An authority that keeps its files in a folder of its own. */
export function createAuthority(folder: string, name: string): Authority {
  const cwd = join(folder, name)
  mkdirSync(cwd)
  const openssl = (...args: string[]): string => execFileSync('openssl', args, { cwd, encoding: 'utf8', stdio: 'pipe' })
  const read = (file: string): string => readFileSync(join(cwd, file), 'utf8')
  writeFileSync(join(cwd, 'ca.cnf'), CONFIG)
  writeFileSync(join(cwd, 'index.txt'), '')
  writeFileSync(join(cwd, 'serial'), '01\n')
  openssl('req', '-x509', ...NEW_KEY, '-subj', `/CN=${name}`, '-keyout', 'ca.key', '-out', 'ca.pem')
  const own = ['ca', '-config', 'ca.cnf', '-batch', '-notext', '-cert', 'ca.pem', '-keyfile', 'ca.key']
  return {
    cert: read('ca.pem'),
    issue({ subject, from, to, usage = 'clientAuth', address }) {
      const names = address === undefined ? [] : ['-addext', `subjectAltName=IP:${address}`]
      openssl('req', '-new', ...NEW_KEY, ...names, '-subj', subject, '-keyout', 'key.pem', '-out', 'request.pem')
      const dates = [...(from ? ['-startdate', from] : []), ...(to ? ['-enddate', to] : [])]
      openssl(...own, '-extensions', usage, ...dates, '-in', 'request.pem', '-out', 'cert.pem')
      return { cert: read('cert.pem'), key: read('key.pem') }
    },
    revoke({ cert }) {
      writeFileSync(join(cwd, 'revoked.pem'), cert)
      openssl(...own, '-revoke', 'revoked.pem')
    },
    listRevoked() {
      openssl(...own, '-gencrl', '-out', 'crl.pem')
      return read('crl.pem')
    },
  }
}
