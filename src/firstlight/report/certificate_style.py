"""How the page of a certificate looks: calm, light and dark, and on paper."""

STYLE = """
:root{--paper:#fff;--ink:#1c2430;--soft:#5b6675;--line:#e3e6ea;--band:#f6f7f9;--good:#12806a;--bad:#c62828;
--good-band:#e2f4ef;--bad-band:#fbe9e9}
@media (prefers-color-scheme:dark){:root{--paper:#0f141a;--ink:#e4e9f0;--soft:#97a3b4;--line:#242c37;--band:#151b23;
--good:#35b79b;--bad:#f0837c;--good-band:#12332c;--bad-band:#3d1c1b}}
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);line-height:1.45;
font:15px/1.45 Inter,ui-sans-serif,system-ui,'Segoe UI',Roboto,Helvetica,Arial,sans-serif}
main{max-width:1180px;margin:0 auto;padding:40px 28px 64px}
h1{font-size:30px;font-weight:650;margin:2px 0 6px;letter-spacing:-.01em}
h2{font-size:15px;font-weight:650;margin:0 0 10px}
section,footer{margin-top:34px}
.kind,.lead,small,.owner,.number,dt,.notes,footer p{color:var(--soft)}
.kind{margin:0;font-size:13px}
.lead{font-size:17px;margin:0 0 18px}.lead b{color:var(--ink);font-weight:600}
.badge{display:inline-block;font-size:14px;font-weight:600;padding:3px 12px;border-radius:99px;vertical-align:5px;
margin-left:8px;letter-spacing:0}
.badge.good{background:var(--good-band);color:var(--good)}.badge.bad{background:var(--bad-band);color:var(--bad)}
.facts,.legend{display:grid;grid-template-columns:repeat(auto-fill,minmax(340px,1fr));gap:6px 28px;margin:0}
.facts div,.legend div{display:flex;gap:12px;min-width:0}
dt{flex:0 0 112px;font-size:13px}.legend dt{flex-basis:72px}
dd{margin:0;font-size:13px;overflow-wrap:anywhere}
.counts{display:flex;flex-wrap:wrap;gap:8px}
.counts div{flex:1 1 110px;background:var(--band);border-radius:8px;padding:12px 14px}
.counts b{display:block;font-size:24px;font-weight:650;font-variant-numeric:tabular-nums}
.counts span{font-size:12px;color:var(--soft)}
.counts .good b{color:var(--good)}.counts .bad b{color:var(--bad)}
.failures{background:var(--bad-band);border-left:4px solid var(--bad);border-radius:6px;padding:18px 22px}
.failures h2{color:var(--bad)}.failures ul,.notes{margin:0;padding-left:18px}
.failures li,.notes li{margin:3px 0;overflow-wrap:anywhere}.notes{font-size:13px}
details{border-top:1px solid var(--line)}details:last-of-type{border-bottom:1px solid var(--line)}
summary{display:flex;align-items:baseline;gap:12px;padding:9px 4px;cursor:pointer;list-style:none}
summary::-webkit-details-marker{display:none}
summary::after{content:"›";color:var(--soft);transition:transform .1s}
details[open] summary::after{transform:rotate(90deg)}
.name{font-weight:600}.owner{flex:1;font-size:13px;overflow-wrap:anywhere}
.number{font-size:13px;font-variant-numeric:tabular-nums;white-space:nowrap}
.wide{overflow-x:auto;padding-bottom:14px}
table{border-collapse:collapse;width:100%;font-size:13px}
th{text-align:left;font-weight:500;color:var(--soft);font-size:12px;padding:4px 8px;white-space:nowrap}
td{padding:5px 8px;border-top:1px solid var(--line);vertical-align:top}
.claim{text-align:center;width:1%}
.object b{font-weight:550;overflow-wrap:anywhere}
.object small{display:block;font-size:11px;font-family:ui-monospace,Menlo,monospace}
.yes{color:var(--good)}.no{color:var(--bad);font-weight:700}.none{color:var(--soft)}
.seal,code{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}
.seal{font-size:13px;background:var(--band);padding:10px 14px;border-radius:6px;color:var(--ink);overflow-wrap:anywhere}
code{font-size:12px}footer p{font-size:13px;margin:8px 0}
@media print{:root{--paper:#fff;--ink:#000;--soft:#444;--line:#ccc;--band:#f4f4f4;--good:#0b5e4d;--bad:#a11;
--good-band:#eee;--bad-band:#f6eaea}
@page{margin:14mm}main{padding:0;max-width:none}body{font-size:11px}
summary::after{display:none}details::details-content{content-visibility:visible;block-size:auto}
details>*{display:block}summary{display:flex}.wide{overflow:visible}tr,.failures li{break-inside:avoid}
td,th{padding:3px}table{font-size:10px}th{font-size:8px}.object b{font-size:10px}.object small{font-size:8px}
.counts div{flex:1 1 70px;padding:8px 10px}}
""".strip()
