import Foundation
import Support
import TestSupport
import Testing
import TileIndex

@testable import TileServe

@Suite(.ownThread) struct UpstreamSettingsTests {
  private func settings(_ text: String) throws -> UpstreamSettings {
    try UpstreamSettings(Array(text.utf8), path: "/maps/topo.upstream.json")
  }

  private static let least = #""url": "https://tiles.example.org/{z}/{x}/{y}.png", "format": "png", "maxzoom": 14"#

  @Test func defaultsOfMissingMembers() throws {
    let found = try settings("{\(Self.least)}")
    #expect(found.zooms == 0...14 && found.format == .png && found.host == "tiles.example.org")
    #expect(found.file == "/maps/topo.mbtiles" && found.fileBytesMax == 1_000_000_000 && found.whenFull == .evict)
    #expect(!found.isMetered && found.bounds == nil && found.connections == 4)
    #expect(!found.fetchesAhead && found.requestsPerSecond == 20)
    #expect(found.userAgent.hasPrefix("tileserve/\(TileServer.version) "))
  }

  @Test func allMembers() throws {
    let found = try settings(
      """
      {\(Self.least), "minzoom": 3, "bounds": [-110, 36, -101.5, 41], "name": "Topo", "attribution": "© Somebody",
       "tilePixels": 512, "file": "kept/topo.mbtiles", "fileSize": "250MB", "whenFull": "stop", "metered": true,
       "connections": 2, "timeout": 5, "fresh": 60, "missingFresh": 0, "userAgent": "my-maps/1 (me@example.org)",
       "prefetch": true, "rate": 5}
      """)
    #expect(found.fetchesAhead && found.requestsPerSecond == 5)
    #expect(found.zooms == 3...14 && found.bounds == BoundingBox(west: -110, south: 36, east: -101.5, north: 41))
    #expect(found.file == "/maps/kept/topo.mbtiles" && found.fileBytesMax == 250_000_000 && found.whenFull == .stop)
    #expect(found.isMetered && found.connections == 2 && found.timeoutSeconds == 5 && found.freshSeconds == 60)
    #expect(found.tilePixels == 512 && found.missingSeconds == 0 && found.userAgent == "my-maps/1 (me@example.org)")
  }

  @Test func archives() throws {
    let found = try settings(#"{"url": "http://[::1]:8080/a/planet.pmtiles?key=1"}"#)
    #expect(found.host == "[::1]" && found.zooms == nil && found.format == nil)
  }

  @Test(arguments: [
    ("", "no JSON"), ("[]", "no JSON object"), ("{}", "url: is missing"),
    (#"{"url": "ftp://a/{z}/{x}/{y}", "format": "png", "maxzoom": 3}"#, "url: must begin with http"),
    (#"{"url": "file:///etc/{z}/{x}/{y}", "format": "png", "maxzoom": 3}"#, "url: must begin with http"),
    (#"{"url": "https://u:p@a/{z}/{x}/{y}", "format": "png", "maxzoom": 3}"#, "url: must not hold a user"),
    (#"{"url": "https://{z}.a/{x}/{y}", "format": "png", "maxzoom": 3}"#, "url: "),
    (#"{"url": "https://a/{z}/{x}", "format": "png", "maxzoom": 3}"#, "url: needs {z}, {x} and {y}"),
    (#"{"url": "https://a/{z}/{x}/{y}/{s}", "format": "png", "maxzoom": 3}"#, "url: has another place"),
    (#"{"url": "https://a/map.png"}"#, "url: names neither"),
    (#"{"url": "https://[]/{z}/{x}/{y}", "format": "png", "maxzoom": 3}"#, "url: names an invalid host"),
    (#"{"url": "https://a:99999/{z}/{x}/{y}", "format": "png", "maxzoom": 3}"#, "url: has a port"),
    (#"{"url": "https://a/{z}/{x}/{y}", "maxzoom": 3}"#, "format: is missing"),
    (#"{"url": "https://a/{z}/{x}/{y}", "format": "tiff", "maxzoom": 3}"#, "format: is none of"),
    (#"{"url": "https://a/{z}/{x}/{y}", "format": "png"}"#, "maxzoom: is missing"),
    ("{\(least), \"minzoom\": 15}", "minzoom: is above"), ("{\(least), \"maxzoom\": 3}", "\"maxzoom\" occurs twice"),
    (#"{"url": "https://a/{z}/{x}/{y}", "format": "png", "maxzoom": 3.5}"#, "maxzoom: must be a whole"),
    ("{\(least), \"maxzom\": 3}", "maxzom: is not known"), ("{\(least), \"metered\": 1}", "metered: must be true"),
    ("{\(least), \"bounds\": [1, 2, 3]}", "bounds: must be"),
    ("{\(least), \"bounds\": [10, 0, 5, 1]}", "bounds: must be"),
    ("{\(least), \"fileSize\": \"12\"}", "fileSize: must be"),
    ("{\(least), \"file-size\": \"1GB\"}", "did you mean \"fileSize\"?"),
    ("{\(least), \"fileSize\": \"9999999999TB\"}", "fileSize: "),
    ("{\(least), \"whenFull\": \"panic\"}", "whenFull: is neither"),
    ("{\(least), \"connections\": 0}", "connections: "), ("{\(least), \"rate\": 0}", "rate: must be a whole"),
    ("{\(least), \"prefetch\": \"on\"}", "prefetch: must be true or false"),
    ("{\(least), \"userAgent\": \"a\\r\\nHost: b\"}", "userAgent: holds"),
    ("{\(least), \"file\": \"\"}", "file: must be"), ("{\(least), \"file\": \"/tmp/a.mbtiles\"}", "file: lies outside"),
    ("{\(least), \"file\": \"../a.mbtiles\"}", "file: lies outside"),
    ("{\(least), \"file\": \"b/../../a.mbtiles\"}", "file: lies outside"),
  ])
  func mistakes(text: String, words: String) {
    let error = #expect(throws: ServeError.self) { try settings(text) }
    #expect(
      error?.path == "/maps/topo.upstream.json" && error?.description.contains(words) == true,
      "\(error?.description ?? "")")
    #expect(error?.code == .invalidOption)
  }

  /// Links lead nowhere else either, whether what they name exists or not, and whether the description names the link
  /// or it lies where the bundle is kept by default.
  @Test func linksOutOfTheFolder() throws {
    let folder = try TemporaryFolder()
    let (inside, outside) = (folder.file("maps"), folder.file("other"))
    for path in [inside, "\(inside)/kept", outside] { try FileSystem.makeFolder(path) }
    func settings(_ file: String?) throws -> UpstreamSettings {
      let text = "{\(Self.least)\(file.map { ", \"file\": \"\($0)\"" } ?? "")}"
      return try UpstreamSettings(Array(text.utf8), path: "\(inside)/topo.upstream.json")
    }
    let links = [
      ("link", "../other"), ("new.mbtiles", "../other/new.mbtiles"), ("away.mbtiles", "\(outside)/away.mbtiles"),
      ("again.mbtiles", "away.mbtiles"), ("near", "kept"),
    ]
    for (name, target) in links {
      try FileManager.default.createSymbolicLink(atPath: "\(inside)/\(name)", withDestinationPath: target)
    }
    for file in ["link/a.mbtiles", "new.mbtiles", "away.mbtiles", "again.mbtiles"] {
      let error = #expect(throws: ServeError.self, "\(file)") { try settings(file) }
      #expect(error?.description.contains("file: is a symbolic link") == true, "\(error?.description ?? "")")
    }
    for file in ["near/a.mbtiles", "kept/a.mbtiles", "a.mbtiles", "missing/a.mbtiles"] {
      #expect(try settings(file).file == "\(inside)/\(file)")
    }
    #expect(try settings(nil).file == "\(inside)/topo.mbtiles")
    let own = "\(inside)/topo.mbtiles"
    try FileManager.default.createSymbolicLink(atPath: own, withDestinationPath: "../other/topo.mbtiles")
    #expect(throws: ServeError.self) { try settings(nil) }
  }

  /// Text that the message quotes is no remedy, whatever punctuation it has.
  @Test func theRemedyIsApart() {
    let error = #expect(throws: ServeError.self) { try settings(#"{"url; x": 1}"#) }
    #expect(error?.message == "url; x: is not known" && error?.path == "/maps/topo.upstream.json")
    #expect(error?.remedy?.isEmpty == false)
    #expect(ServeError(.cannotListen, "one", remedy: "two").description == "one; two")
  }

  @Test(arguments: [
    ("https://a/{z}/{x}/{y}.png", "https://a/3/5/2.png"),
    ("http://a:81/{-y}?x={x}&z={z}&k=%7B", "http://a:81/5?x=5&z=3&k=%7B"),
    ("HTTPS://Maps.Example/{z}{x}{y}", "https://maps.example/352"),
  ])
  func templates(text: String, url: String) throws {
    #expect(try URLTemplate(text).address(TileID(unchecked: 3, 5, 2)).text == url)
  }

  /// On the same host, never from https to http, never to another scheme.
  @Test(
    arguments: [
      ("/b?c", "http://a/b?c"), ("http://a/b", "http://a/b"), ("https://a/b", "https://a/b"), ("//a/b", "http://a/b"),
      ("HTTP://A/b#x", "http://a/b"), ("http://b/b", nil), ("file:///etc/passwd", nil), ("ftp://a/b", nil), ("b", nil),
      ("http://a:8080/b", nil), ("http://a@b/", nil), ("//b/", nil), ("", nil), ("javascript:1", nil),
      ("http://169.254.169.254/latest", nil),
    ] as [(String, String?)])
  func redirects(location: String, target: String?) throws {
    #expect(try HTTPAddress("http://a/x").redirected(to: location)?.text == target)
  }

  @Test func redirectsKeepEncryption() throws {
    #expect(try HTTPAddress("https://a/x").redirected(to: "http://a/x") == nil)
    #expect(try HTTPAddress("https://a/x").redirected(to: "/y")?.text == "https://a/y")
  }

  @Test(
    arguments: [
      ([:], 1000 + 500), (["cache-control": "max-age=3600"], 4600),
      (["cache-control": "public, S-MaxAge=\"7200\", max-age=60"], 8200),
      (["cache-control": "max-age=3600", "age": "600"], 4000), (["cache-control": "no-store"], 1060),
      (["cache-control": "max-age=0"], 1060), (["cache-control": "max-age=-5"], 1060),
      (["cache-control": "max-age=99999999999999999"], 1000 + 365 * 86400), (["cache-control": "max-age=x"], 1500),
      (["expires": "Thu, 01 Jan 1970 02:00:00 GMT", "date": "Thu, 01 Jan 1970 00:30:00 GMT"], 1000 + 5400),
      (["expires": "0"], 1060), (["cache-control": "max-age=600", "age": "-99999999999"], 1600),
    ] as [([String: String], Int)])
  func freshness(fields: [String: String], until: Int) {
    #expect(Freshness.expiry(now: 1000, fallback: 500) { fields[$0] } == until)
  }

  @Test(
    arguments: [
      (nil, nil), ("12", 12), ("-1", nil), ("Thu, 01 Jan 1970 00:20:00 GMT", 200), ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
      ("soon", nil),
    ] as [(String?, Int?)])
  func retryAfter(text: String?, seconds: Int?) { #expect(Freshness.retryAfter(text, now: 1000) == seconds) }
}
