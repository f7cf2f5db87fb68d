import Foundation
import Support
import TestSupport
import Testing

/// A disk of 5 MB/s. A library that is loaded before the system's delays each read of a bundle by what such a disk
/// takes, and has nothing of it in memory.
@Suite(.ownThread, .enabled(if: Command(installed: "cc") != nil, "no C compiler is installed"))
struct SlowStorageTests {
  private let folder: TemporaryFolder
  init() throws { folder = try TemporaryFolder() }

  private static let source = """
    #define _GNU_SOURCE
    #include <dlfcn.h>
    #include <errno.h>
    #include <stdio.h>
    #include <string.h>
    #include <sys/uio.h>
    #include <unistd.h>
    static int is_bundle(int file) {
      char name[64], path[4096];
      snprintf(name, sizeof name, "/proc/self/fd/%d", file);
      ssize_t length = readlink(name, path, sizeof path);
      return length > 8 && memcmp(path + length - 8, ".mbtiles", 8) == 0;
    }
    static void wait_for(int file, ssize_t bytes) { if (bytes > 0 && is_bundle(file)) usleep(bytes / 5); }
    ssize_t pread(int file, void *to, size_t count, off_t at) {
      ssize_t (*next)(int, void *, size_t, off_t) = dlsym(RTLD_NEXT, "pread");
      ssize_t done = next(file, to, count, at);
      wait_for(file, done);
      return done;
    }
    ssize_t pread64(int file, void *to, size_t count, off64_t at) {
      ssize_t (*next)(int, void *, size_t, off64_t) = dlsym(RTLD_NEXT, "pread64");
      ssize_t done = next(file, to, count, at);
      wait_for(file, done);
      return done;
    }
    ssize_t preadv2(int file, const struct iovec *to, int parts, off_t at, int flags) {
      ssize_t (*next)(int, const struct iovec *, int, off_t, int) = dlsym(RTLD_NEXT, "preadv2");
      if (is_bundle(file)) { errno = EAGAIN; return -1; }
      return next(file, to, parts, at, flags);
    }
    """

  /// Time alone is no reason to give up on a bundle, not even where each look-up reads all of it.
  @Test func coldBundleIsNotQuarantined() throws {
    let library = folder.file("slow.so")
    let source = try folder.write("slow.c", Self.source)
    let compiler = try #require(Command(installed: "cc"))
    let compiled = try compiler.start(["-shared", "-fPIC", "-o", library, source, "-ldl"]).wait()
    try #require(compiled.status == 0, "\(compiled)")
    _ = try folder.writeBundle("good.mbtiles", zooms: 0...3)
    let connection = try SQLiteConnection(creating: folder.file("plain.mbtiles"))
    // A megabyte: 0.2 s for each look-up.
    try connection.execute(
      """
      CREATE TABLE metadata (name TEXT, value TEXT);
      INSERT INTO metadata VALUES ('name', 'plain'), ('format', 'png'), ('minzoom', '4'), ('maxzoom', '4');
      CREATE TABLE tiles (zoom_level INTEGER, tile_column INTEGER, tile_row INTEGER, tile_data BLOB);
      WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 255)
      INSERT INTO tiles SELECT 4, i / 16, i % 16, x'89504e470d0a1a0a' || zeroblob(4000) FROM n;
      """)
    try connection.close()
    let server = try RunningServer([folder.path], environment: ["LD_PRELOAD": library])
    for tile in ["/plain/4/0/0.png", "/plain/4/15/15.png", "/plain/4/7/9.png", "/plain/4/3/3.png", "/good/3/1/1.png"] {
      #expect(try eventually(seconds: 60) { try server.get(tile).status == 200 }, "\(tile)")
    }
    let list = try JSONValue(parsing: server.get("/tilesets.json").body)
    #expect(list["unavailable"]?.array?.isEmpty == true && list["tilesets"]?.array?.count == 2, "\(list)")
    #expect(!server.process.stderr.contains("is not asked any more"), "\(server.process.stderr)")
  }
}
