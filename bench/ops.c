// SPDX-License-Identifier: Apache-2.0
// ops.c: every op of a table (bench/ops.txt) with Ferry and with TensorFlow, side by side.
//   ops TABLE FERRY_DIR TF_DIR [FILTER]     copies of this program, one per library, do the work:
//   ops --serve                             answers "case …", "go MS" and "end" on its input
// The two servers live side by side and are asked in turn for short slots of one case, so whatever
// else the machine does hits both; the least time of a call is kept. Only the C API is used.
// Environment: SLOTS (rounds per case, 8), SLOT_MS (6), SIZES ("small medium large"), PEAK_GFLOPS
// (for the limits), COPY_GBS (the speed of a copy that was already seen on this machine).

#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"
#include "ops_case.h"

#define MAX_LINE 4096
#define SIZES    3

// ---------------------------------------------------------------- server
static double cpu_now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

// The least time of a call, and the mean CPU time of one: the kernel adds what a thread used when it
// sleeps or at a clock tick, so only the slot as a whole is right, once its threads came to rest.
static void measure(ops_case *c, double slot_ns, double *wall, double *cpu) {
  const double cpu_start = cpu_now_ns(), start = bench_now_ns();
  double calls = 0;
  *wall = 1e30;
  for (int batches = 0; batches < 3 || bench_now_ns() - start < slot_ns; batches++) {
    const double wall_start = bench_now_ns();
    for (long i = 0; i < c->calls; i++) ops_case_run(c, NULL);
    const double w = (bench_now_ns() - wall_start) / (double)c->calls;
    if (w < *wall) *wall = w;
    calls += (double)c->calls;
    if (bench_now_ns() - start > 4 * slot_ns) break;
  }
  usleep(1000);
  *cpu = (cpu_now_ns() - cpu_start) / calls;
}

static int serve(void) {
  static char line[MAX_LINE];
  ops_case c = {0};
  while (fgets(line, sizeof line, stdin) != NULL) {
    line[strcspn(line, "\n")] = 0;
    if (strncmp(line, "case ", 5) == 0) {
      char error[512] = "";
      double check = 0;
      if (ops_case_build(&c, line + 5, error, sizeof error) && ops_case_run(&c, error)) {
        check = c.check;
        const double t = bench_now_ns();
        ops_case_run(&c, NULL);
        const double took = bench_now_ns() - t;
        c.calls = took < 4e4 ? (long)(4e4 / (took + 1)) + 1 : 1;
        printf("ok %.9g %.9g\n", check, c.bytes);
      } else {
        for (char *p = error; *p; p++)
          if (*p == '\n') *p = ' ';
        printf("fail %s\n", error);
      }
    } else if (strncmp(line, "go ", 3) == 0) {
      double wall, cpu;
      measure(&c, strtod(line + 3, NULL) * 1e6, &wall, &cpu);
      printf("%.9g %.9g\n", wall, cpu);
    } else {
      ops_case_free(&c);
      printf("ended\n");
    }
    fflush(stdout);
  }
  return 0;
}

// ---------------------------------------------------------------- the one who asks
typedef struct server {
  const char *dir;
  pid_t pid;
  FILE *to, *from;
  double wall, cpu, check, bytes;
  char failure[512];
  bool ok;
} server;

static const char *program;

// ---------------------------------------------------------------- what copying costs
#define COPY_BYTES ((size_t)64 << 20)
typedef struct copy_part {
  char *to;
  const char *from;
  size_t bytes;
} copy_part;

static void *copy_one(void *arg) {
  const copy_part *p = arg;
  memcpy(p->to, p->from, p->bytes);
  return NULL;
}

// GB/s (read + written) of copying 16 M floats with two threads; the best that was seen.
static double copy_speed(double best) {
  static char *from, *to;
  if (!from) {
    from = malloc(COPY_BYTES), to = malloc(COPY_BYTES);
    if (!from || !to) exit(1);
    memset(from, 1, COPY_BYTES);
    memset(to, 2, COPY_BYTES);
  }
  for (int i = 0; i < (best > 0 ? 1 : 5); i++) {
    copy_part parts[2] = {{to, from, COPY_BYTES / 2},
                          {to + COPY_BYTES / 2, from + COPY_BYTES / 2, COPY_BYTES / 2}};
    pthread_t helper;
    const double start = bench_now_ns();
    if (pthread_create(&helper, NULL, copy_one, &parts[1])) exit(1);
    copy_one(&parts[0]);
    pthread_join(helper, NULL);
    const double speed = 2 * (double)COPY_BYTES / (bench_now_ns() - start);
    if (speed > best) best = speed;
  }
  return best;
}

// ---------------------------------------------------------------- the table

static void start(server *s) {
  int to[2], from[2];
  if (pipe(to) || pipe(from)) exit(1);
  // The other server must not keep these open: this one ends when its input does.
  fcntl(to[1], F_SETFD, FD_CLOEXEC);
  fcntl(from[0], F_SETFD, FD_CLOEXEC);
  s->pid = fork();
  if (s->pid == 0) {
    dup2(to[0], 0);
    dup2(from[1], 1);
    close(to[1]);
    close(from[0]);
    setenv("LD_LIBRARY_PATH", s->dir, 1);
    setenv("TF_CPP_MIN_LOG_LEVEL", "3", 1);
    setenv("CUDA_VISIBLE_DEVICES", "", 1);
    execl(program, program, "--serve", (char *)NULL);
    _exit(127);
  }
  close(to[0]);
  close(from[1]);
  s->to = fdopen(to[1], "w");
  s->from = fdopen(from[0], "r");
}

static bool ask(server *s, char *answer, const char *format, const char *text) {
  fprintf(s->to, format, text);
  fputc('\n', s->to);
  fflush(s->to);
  if (fgets(answer, MAX_LINE, s->from) != NULL) return true;
  // It died: the case failed, the next one gets a new server.
  fclose(s->to);
  fclose(s->from);
  waitpid(s->pid, NULL, 0);
  start(s);
  strcpy(answer, "fail the process ended\n");
  return false;
}

// Chooses from each {small|medium|large}; false: "!" says that there is none of this size.
static bool expand(const char *line, int size, char *out) {
  while (*line) {
    if (*line != '{') {
      *out++ = *line++;
      continue;
    }
    line++;
    for (int k = 0; *line && *line != '}'; line++) {
      if (*line == '|') {
        k++;
      } else if (k == size) {
        if (*line == '!') return false;
        *out++ = *line;
      }
    }
    if (*line) line++;
  }
  *out = 0;
  return true;
}

static double product(const char *text) {
  double p = 1;
  for (char *end; *text; text = *end == '*' ? end + 1 : end) {
    const double f = strtod(text, &end);
    if (end == text) break;
    p *= f;
  }
  return p;
}

static double setting(const char *name, double otherwise) {
  const char *text = getenv(name);
  return text && *text ? strtod(text, NULL) : otherwise;
}

static void print_time(double ns) {
  if (ns < 1e3)
    printf("%.0f ns", ns);
  else if (ns < 1e6)
    printf("%.2f us", ns / 1e3);
  else
    printf("%.2f ms", ns / 1e6);
}

int main(int argc, char **argv) {
  if (argc == 2 && strcmp(argv[1], "--serve") == 0) return serve();
  if (argc < 4) {
    fprintf(stderr, "usage: ops TABLE FERRY_DIR TF_DIR [FILTER]\n");
    return 2;
  }
  static const char *size_names[SIZES] = {"small", "medium", "large"};
  static char line[MAX_LINE], text[MAX_LINE], before[MAX_LINE], answer[MAX_LINE];
  const int slots = (int)setting("SLOTS", 8);
  const double slot_ms = setting("SLOT_MS", 6), peak = setting("PEAK_GFLOPS", 0);
  double copy = copy_speed(copy_speed(setting("COPY_GBS", 0)));
  FILE *table = fopen(argv[1], "r");
  if (!table) {
    perror(argv[1]);
    return 1;
  }
  program = argv[0];
  server servers[2] = {{.dir = argv[2]}, {.dir = argv[3]}};
  for (int s = 0; s < 2; s++) start(&servers[s]);
  printf(
      "| op | size | Ferry | TensorFlow | ratio | CPU time ratio | limit | limit / Ferry | |\n"
      "|---|---|---|---|---|---|---|---|---|\n");
  while (fgets(line, sizeof line, table)) {
    line[strcspn(line, "\n")] = 0;
    if (line[0] == '#' || line[0] == 0) continue;
    if (argc > 4 && !strstr(line, argv[4])) continue;
    before[0] = 0;
    for (int size = 0; size < SIZES; size++) {
      const char *sizes = getenv("SIZES");
      if (sizes && *sizes && !strstr(sizes, size_names[size])) continue;
      if (!expand(line, size, text) || strcmp(text, before) == 0) continue;
      strcpy(before, text);
      bool both = true;
      for (int s = 0; s < 2; s++) {
        server *v = &servers[s];
        v->wall = v->cpu = 1e30;
        v->ok = ask(v, answer, "case %s", text) &&
                sscanf(answer, "ok %lf %lf", &v->check, &v->bytes) == 2;
        if (!v->ok) snprintf(v->failure, sizeof v->failure, "%.500s", answer);
        both = both && v->ok;
      }
      for (int round = 0; round < slots && both; round++) {
        for (int s = 0; s < 2 && both; s++) {
          server *v = &servers[(s + round) % 2];
          char ms[32];
          double wall, cpu;
          snprintf(ms, sizeof ms, "%g", slot_ms);
          both = ask(v, answer, "go %s", ms) && sscanf(answer, "%lf %lf", &wall, &cpu) == 2;
          if (!both) {
            v->ok = false;
            snprintf(v->failure, sizeof v->failure, "%.500s", answer);
            break;
          }
          if (wall < v->wall) v->wall = wall;
          if (cpu < v->cpu) v->cpu = cpu;
        }
      }
      for (int s = 0; s < 2; s++) ask(&servers[s], answer, "end%s", "");
      const server *a = &servers[0], *b = &servers[1];
      printf("| %.*s | %s | ", (int)strcspn(text, ";"), text, size_names[size]);
      if (!both) {
        for (int s = 0; s < 2; s++) {
          const server *v = &servers[s];
          v->ok ? printf("ran | ") : printf("%.*s | ", (int)strcspn(v->failure, "\n"), v->failure);
        }
        printf(" | | | | |\n");
      } else {
        const char *flops = strrchr(text, ';');
        double limit = a->bytes / (copy = size == 2 ? copy_speed(copy) : copy);
        if (flops && strchr(flops, '*') && peak > 0) {
          const double f = product(flops + 1) / peak;
          if (f > limit) limit = f;
        }
        print_time(a->wall);
        printf(" | ");
        print_time(b->wall);
        printf(" | %.2f | %.2f | ", b->wall / a->wall, b->cpu / a->cpu);
        print_time(limit);
        printf(" | %.2f | ", limit / a->wall);
        const double scale = a->check > 0 ? a->check : -a->check;
        const double off = a->check > b->check ? a->check - b->check : b->check - a->check;
        printf("%s |\n", off > 1e-3 * scale + 1e-3 ? "results differ" : "");
      }
      fflush(stdout);
    }
  }
  printf("\nCopying 16 M floats on two cores: %.1f GB/s read and written.\n", copy);
  for (int s = 0; s < 2; s++) {
    fclose(servers[s].to);
    waitpid(servers[s].pid, NULL, 0);
  }
  return 0;
}
