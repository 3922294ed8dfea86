// The proxies that the page has examples for and Debian has packages of, and how each gets the text of the page.
import { fileURLToPath } from 'node:url'
import { readBlock, readExample } from './page.ts'

/** Everything nginx writes stays in its folder. */
interface Place {
  readonly folder: string
  readonly port: number
  readonly gate: string
  readonly application: string
}

const renderNginx = (place: Place) => renderNginxWith(place, '', readExample('nginx', place))

/** With the lines of the page that cache decisions. */
function renderCachingNginx(place: Place) {
  const cache = readBlock('nginx cache', { '/var/cache/nginx': place.folder })
  const example = readExample('nginx', {
    ...place,
    replaced: { 'internal;': `internal;\n${readBlock('nginx cached location')}` },
  })
  return renderNginxWith(place, cache, example)
}

/** With the lines of the page that send browsers to the sign-in page. */
function renderSignInNginx(place: Place) {
  const own = readBlock('nginx sign-in', { '127.0.0.1:5984': place.gate })
  const example = readExample('nginx', {
    ...place,
    replaced: {
      'internal;': `internal;\n${readBlock('nginx sign-in gate')}`,
      'auth_request /_gate;': `auth_request /_gate;\n${readBlock('nginx sign-in application')}`,
    },
  })
  return renderNginxWith(place, '', `${example}${own}`)
}

const renderNginxWith = ({ folder, port }: Place, cache: string, example: string) => `
daemon off;
master_process off;
pid ${folder}/pid;
error_log stderr warn;
events {}
http {
    access_log off;
    keepalive_requests 1000000;
    client_body_temp_path ${folder}/body;
    proxy_temp_path ${folder}/proxy;
    fastcgi_temp_path ${folder}/fastcgi;
    uwsgi_temp_path ${folder}/uwsgi;
    scgi_temp_path ${folder}/scgi;
    ${cache}
    server {
        listen 127.0.0.1:${port};
${example}
    }
}
`

const renderCaddy = ({ port, gate, application }: Place, replaced: Readonly<Record<string, string>> = {}) => `
{
    admin off
}
${readExample('caddyfile', { gate, application, replaced: { 'app.example': `http://127.0.0.1:${port}`, ...replaced } })}
`

/** With the lines of the page that forward to the sign-in page. */
const renderSignInCaddy = (place: Place) =>
  renderCaddy(place, {
    'route {': `${readBlock('caddyfile sign-in', { '127.0.0.1:5984': place.gate })}\nroute {`,
  })

const NGINX = {
  files: ['nginx', '/usr/sbin/nginx'],
  version: ['-v'],
  debian: 'nginx-light',
  arguments: (folder, file) => ['-p', folder, '-c', file, '-e', 'stderr'],
  /** Whether clients get 404 for the path of the gate; otherwise it belongs to the application. */
  hidesGate: true,
}

const CADDY = {
  files: ['caddy'],
  version: ['version'],
  debian: 'caddy',
  arguments: (_folder, file) => ['run', '--config', file, '--adapter', 'caddyfile'],
  hidesGate: false,
}

const renderHaproxy = ({ port, ...addresses }: Place) =>
  readExample('haproxy', {
    ...addresses,
    replaced: { '/etc/haproxy/gate.lua': HAPROXY_SCRIPT, 'bind :80': `bind 127.0.0.1:${port}` },
  })

const HAPROXY_SCRIPT = fileURLToPath(new URL('../../../deploy/haproxy/gate.lua', import.meta.url))

export const PROXIES = {
  nginx: { ...NGINX, render: renderNginx },
  'nginx-cache': { ...NGINX, render: renderCachingNginx },
  'nginx-sign-in': { ...NGINX, render: renderSignInNginx, signsIn: true },
  caddy: { ...CADDY, render: (place: Place) => renderCaddy(place) },
  'caddy-sign-in': { ...CADDY, render: renderSignInCaddy, signsIn: true },
  haproxy: {
    files: ['haproxy', '/usr/sbin/haproxy'],
    version: ['-v'],
    debian: 'haproxy',
    render: renderHaproxy,
    arguments: (_folder, file) => ['-db', '-f', file],
    hidesGate: false,
    /** Whether an upgrade to WebSocket without its key is rejected. */
    checksUpgrades: true,
  },
}
