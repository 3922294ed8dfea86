// The proxies that the page has examples for and Debian has packages of, and how each gets the text of the page.
import { readExample } from './page.ts'

/** Everything nginx writes stays in its folder. */
interface Place {
  readonly folder: string
  readonly port: number
  readonly gate: string
  readonly application: string
}

const renderNginx = ({ folder, port, ...addresses }: Place) => `
daemon off;
master_process off;
pid ${folder}/pid;
error_log stderr warn;
events {}
http {
    access_log off;
    client_body_temp_path ${folder}/body;
    proxy_temp_path ${folder}/proxy;
    fastcgi_temp_path ${folder}/fastcgi;
    uwsgi_temp_path ${folder}/uwsgi;
    scgi_temp_path ${folder}/scgi;
    server {
        listen 127.0.0.1:${port};
${readExample('nginx', addresses)}
    }
}
`

const renderCaddy = ({ port, gate, application }: Place) => `
{
    admin off
}
${readExample('caddyfile', { gate, application, replaced: { 'app.example': `http://127.0.0.1:${port}` } })}
`

export const PROXIES = {
  nginx: {
    files: ['nginx', '/usr/sbin/nginx'],
    version: ['-v'],
    debian: 'nginx-light',
    render: renderNginx,
    arguments: (folder, file) => ['-p', folder, '-c', file, '-e', 'stderr'],
    /** Whether clients get 404 for the path of the gate; otherwise it belongs to the application. */
    hidesGate: true,
  },
  caddy: {
    files: ['caddy'],
    version: ['version'],
    debian: 'caddy',
    render: renderCaddy,
    arguments: (_folder, file) => ['run', '--config', file, '--adapter', 'caddyfile'],
    hidesGate: false,
  },
}
