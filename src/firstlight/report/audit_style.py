"""How the page of an audit looks: calm, light and dark, and on paper."""

STYLE = """
:root{--paper:#fff;--ink:#1c2430;--soft:#5b6675;--line:#e3e6ea;--band:#f6f7f9;--good:#12806a;--bad:#c62828;
--warn:#8a5a00;--note:#4a5a70;--good-band:#e2f4ef;--bad-band:#fbe9e9;--warn-band:#fdf2d8;--note-band:#e9eef5;--link:#1f5fbf}
@media (prefers-color-scheme:dark){:root{--paper:#0f141a;--ink:#e4e9f0;--soft:#97a3b4;--line:#242c37;--band:#151b23;
--good:#35b79b;--bad:#f0837c;--warn:#e5b454;--note:#a8b8cf;--good-band:#12332c;--bad-band:#3d1c1b;--warn-band:#38290c;
--note-band:#1c2633;--link:#7fb0ff}}
*{box-sizing:border-box}
[hidden]{display:none!important}
body{margin:0;background:var(--paper);color:var(--ink);
font:15px/1.45 Inter,ui-sans-serif,system-ui,'Segoe UI',Roboto,Helvetica,Arial,sans-serif}
main{max-width:1180px;margin:0 auto;padding:40px 28px 64px}
h1{font-size:30px;font-weight:650;margin:2px 0 6px;letter-spacing:-.01em;overflow-wrap:anywhere}
h2{font-size:15px;font-weight:650;margin:0 0 10px}
h3{font-size:15px;font-weight:650;margin:0;overflow-wrap:anywhere}
section,footer{margin-top:34px}
a{color:var(--link);text-decoration:none}a:hover{text-decoration:underline}
.kind,.lead,.soft,footer p,footer li,dt{color:var(--soft)}
.kind{margin:0;font-size:13px}.lead{margin:0 0 18px}.soft{font-size:13px}
code,.place,.id{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;font-size:12.5px}
.counts{display:flex;flex-wrap:wrap;gap:8px;margin-top:18px}
.counts div{flex:1 1 110px;background:var(--band);border-radius:8px;padding:12px 14px}
.counts b{display:block;font-size:24px;font-weight:650;font-variant-numeric:tabular-nums}
.counts span{font-size:12px;color:var(--soft)}
.counts .critical b,.counts .error b{color:var(--bad)}.counts .warning b{color:var(--warn)}
.counts .note b{color:var(--note)}
.wide{overflow-x:auto}
table{border-collapse:collapse;font-size:13px;min-width:60%}
th{text-align:left;font-weight:500;color:var(--soft);font-size:12px;padding:4px 10px;white-space:nowrap}
th.cell,td.cell{text-align:center}th.reference{font-style:italic}
td{padding:4px 10px;border-top:1px solid var(--line)}
td.cell{border-left:2px solid var(--paper)}
td.first-reference{border-left:10px solid var(--paper)}
td.yes{background:var(--good-band);color:var(--good)}td.no{background:var(--bad-band);font-weight:700}
td.no,td.no a{color:var(--bad)}td.na,td.unknown{color:var(--soft);background:var(--band)}
.legend{font-size:12px;color:var(--soft);margin:10px 0 0}
form{position:sticky;top:0;z-index:1;display:flex;flex-wrap:wrap;gap:8px 14px;align-items:center;
background:var(--paper);border-bottom:1px solid var(--line);padding:12px 0;margin-top:34px;font-size:13px}
form label{display:flex;gap:6px;align-items:center}
select,input[type=search],button{font:inherit;color:inherit;background:var(--band);border:1px solid var(--line);
border-radius:6px;padding:4px 8px;max-width:240px}
.badge{display:inline-block;font-size:12px;font-weight:600;padding:1px 9px;border-radius:99px;white-space:nowrap}
.badge.critical{background:var(--bad);color:var(--paper)}.badge.error{background:var(--bad-band);color:var(--bad)}
.badge.warning{background:var(--warn-band);color:var(--warn)}.badge.note{background:var(--note-band);color:var(--note)}
.badge.fixable{background:var(--good-band);color:var(--good)}
section.rule{margin-top:26px;border-left:3px solid var(--line);padding-left:16px;scroll-margin-top:70px}
section.critical,section.error{border-color:var(--bad)}section.warning{border-color:var(--warn)}
.head{display:flex;flex-wrap:wrap;gap:4px 10px;align-items:baseline}
.why,.fix{margin:4px 0;max-width:90ch;overflow-wrap:anywhere}.why{color:var(--soft)}
.fix b{font-weight:600}
article{border-top:1px solid var(--line);padding:8px 0;margin-top:8px}
article p{margin:2px 0;max-width:100ch;overflow-wrap:anywhere}
article ul{margin:4px 0;padding-left:18px;font-size:13px;color:var(--soft)}
article li{overflow-wrap:anywhere}article li code,.place{color:var(--ink)}
.place{font-weight:600;overflow-wrap:anywhere}
details summary{cursor:pointer}
footer ul{padding-left:18px;font-size:13px}footer li{overflow-wrap:anywhere}
@media (max-width:700px){form{position:static}main{padding:24px 16px}}
@media print{:root{--paper:#fff;--ink:#000;--soft:#444;--line:#ccc;--band:#f4f4f4;--good:#0b5e4d;--bad:#a11;
--warn:#7a5000;--good-band:#eee;--bad-band:#f6eaea;--warn-band:#faf3e0}
@page{margin:14mm}main{padding:0;max-width:none}body{font-size:11px}form{display:none}article{break-inside:avoid}}
""".strip()
